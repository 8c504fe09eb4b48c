import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, OciRequests, type Sent } from './oci-requests.js';

/** Checks that these tests send exactly the request that they describe: nothing is added on the way. */

interface Arrived {
  method: string;
  headers: string[];
  size: number;
}

const server = createServer(async (incoming, outgoing) => {
  let size = 0;
  for await (const piece of incoming) size += piece.length;
  const { method, rawHeaders } = incoming;
  const headers = rawHeaders.flatMap((name, place) =>
    place % 2 === 0 ? [`${name.toLowerCase()}: ${rawHeaders[place + 1]}`] : [],
  );
  outgoing.end(JSON.stringify({ method, headers, size }));
});
let requests: OciRequests;

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  requests = new OciRequests(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
afterAll(() => server.closeAllConnections());
afterAll(() => new Promise((resolve) => server.close(resolve)));

async function arrived(method: string, sent: Sent): Promise<Omit<Arrived, 'method'>> {
  const { headers, size } = json(await requests.send(method, '/v2/', sent)) as unknown as Arrived;
  return { headers: headers.filter((header) => !/^(host|connection): /.test(header)), size };
}

describe('a request', () => {
  it('without a body has no extra header', async () => {
    expect(await arrived('GET', {})).toEqual({ headers: [], size: 0 });
    expect(await arrived('DELETE', {})).toEqual({ headers: [], size: 0 });
  });

  it.each(['POST', 'PUT', 'PATCH'])('%s without a body has a length of 0', async (method) => {
    expect(await arrived(method, {})).toEqual({ headers: ['content-length: 0'], size: 0 });
  });

  it('with a body has its length', async () => {
    const body = Buffer.from('four');
    expect(await arrived('PUT', { body })).toEqual({ headers: ['content-length: 4'], size: 4 });
  });

  it.each([
    ['some bytes', 'four', 4],
    ['no bytes', '', 0],
  ])('in chunks of %s has no length', async (_, text, size) => {
    const answer = await arrived('PUT', { body: Buffer.from(text), chunked: true });
    expect(answer).toEqual({ headers: ['transfer-encoding: chunked'], size });
  });

  it('sends a header with two values as two lines', async () => {
    const { headers } = await arrived('GET', { headers: { Accept: ['one', 'two'] } });
    expect(headers).toEqual(['accept: one', 'accept: two']);
  });
});
