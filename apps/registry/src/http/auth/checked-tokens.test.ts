import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { getRequestListener } from '@hono/node-server';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  definitionText,
  openTestRegistry,
  releasePath,
  type TestRegistry,
} from '../../testing/test-registry.js';

/** How often a write reads the row of its token, by when its body arrives at the socket. */

let registry: TestRegistry;
let server: Server;
let reads = 0;
/** Called with each read of the row. */
let onRead: () => void = () => undefined;

beforeEach(async () => {
  reads = 0;
  onRead = () => undefined;
  registry = await openTestRegistry({
    wrapStore: (store) => ({
      ...store,
      tokenByHash: (hash) => {
        reads += 1;
        onRead();
        return store.tokenByHash(hash);
      },
    }),
  });
  server = createServer(getRequestListener(registry.app.fetch));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await registry.close();
});

/** Sends parts of a publish; returns the status. `between` is awaited before each part but the first. */
async function publish(
  kind: string,
  secret: string,
  split: (request: Buffer, body: number) => number[],
  between: () => Promise<void> = () => sleep(0),
): Promise<number> {
  const set = { kind, release: '1.0.0' };
  const body = Buffer.from(definitionText(set));
  const head = [
    `PUT ${releasePath(set)} HTTP/1.1`,
    'Host: registry.test',
    `Authorization: Bearer ${secret}`,
    'Content-Type: application/yaml',
    `Content-Length: ${body.byteLength}`,
    'Connection: close',
  ];
  const request = Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]);
  const socket = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', noDelay: true });
  const answer: Buffer[] = [];
  socket.on('data', (part) => answer.push(part));
  const closed = once(socket, 'close');
  let start = 0;
  for (const end of [...split(request, request.byteLength - body.byteLength), request.byteLength]) {
    if (start > 0) await between();
    socket.write(request.subarray(start, end));
    start = end;
  }
  await closed;
  return Number(/^HTTP\/1\.1 (\d+)/.exec(Buffer.concat(answer).toString())?.[1]);
}

it('reads it once if the body was there before, and again after a body that came later', async () => {
  const { secret } = await registry.token({});
  reads = 0;
  expect(await publish('Whole', secret, () => [])).toBe(201);
  expect(reads).toBe(1);
  const tokenRead = new Promise<void>((resolve) => {
    onRead = resolve;
  });
  reads = 0;
  expect(
    await publish(
      'Later',
      secret,
      (_, body) => [body],
      () => tokenRead,
    ),
  ).toBe(201);
  expect(reads).toBe(2);
});

it('reads it again after a wait for others that change the function', async () => {
  const { secret } = await registry.token({});
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const other = registry.parts.functionLocks.run(
    { group: 'example.com', kind: 'Waits' },
    'no token',
    () => held,
  );
  reads = 0;
  const locked = vi.spyOn(registry.parts.functionLocks, 'run');
  const publishing = publish('Waits', secret, () => []);
  await expect.poll(() => locked.mock.calls.length).toBe(1);
  expect(reads).toBe(1);
  release();
  await other;
  expect(await publishing).toBe(201);
  expect(reads).toBe(2);
});

describe('a token that is revoked before the last byte is sent', () => {
  it.each(Array.from({ length: 12 }, (_, seed) => seed))('publishes nothing (cut %i)', async (seed) => {
    const { id, secret } = await registry.token({});
    const { secret: other } = await registry.token({ name: 'operator' });
    const before = await registry.parts.store.lastEvent();
    const status = await publish(
      'Revoked',
      secret,
      (request, body) =>
        // In the header, at its end, and in the body, also before its last byte.
        [40 + seed * 7, body - 1, body, body + 1 + seed * 11, request.byteLength - 1]
          .slice(seed % 5)
          .slice(0, 1),
      async () => {
        // The registry may have read the token by now, or not.
        await sleep(seed % 3 === 0 ? 0 : 20);
        const revoked = await registry.request(`/api/v1/tokens/${id}`, {
          method: 'DELETE',
          headers: { Authorization: `Bearer ${other}` },
        });
        expect(revoked.status).toBe(200);
      },
    );
    expect(status).toBe(401);
    expect(await registry.parts.store.lastEvent()).toBe(before);
  });
});
