import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type BodyReader, openBody } from './body-reader.js';
import type { RegistryContext } from './context.js';

let server: Server;
let received: Promise<{ reader: BodyReader; incoming: IncomingMessage; respond: () => void }>;

beforeEach(async () => {
  received = new Promise((resolve) => {
    server = createServer((incoming, response) => {
      const c = { req: { method: incoming.method, raw: {} }, env: { incoming } };
      const reader = openBody(c as unknown as RegistryContext)!;
      resolve({ reader, incoming, respond: () => response.end() });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

function send(length?: number) {
  const { port } = server.address() as AddressInfo;
  const sent = request({
    port,
    host: '127.0.0.1',
    method: 'PUT',
    headers: length === undefined ? {} : { 'Content-Length': length },
  });
  sent.on('error', () => undefined);
  return sent;
}

async function readAll(reader: BodyReader): Promise<{ bytes: Buffer; reads: number }> {
  const pieces: Uint8Array[] = [];
  for (let reads = 0; ; reads++) {
    const some = await reader.read();
    if (some === undefined) return { bytes: Buffer.concat(pieces), reads };
    expect(some.length).toBeGreaterThan(0);
    pieces.push(...some);
  }
}

it.each([
  ['nothing', 0],
  ['one byte', 1],
  ['ten megabytes', 10_000_000],
])('returns %s', async (_, length) => {
  const body = Buffer.alloc(length, 'krmhub');
  send(length).end(body);
  const { reader } = await received;
  expect((await readAll(reader)).bytes.equals(body)).toBe(true);
  expect(await reader.read()).toBeUndefined();
});

it('returns what arrived while it was not read together, and lets the client wait', async () => {
  const body = Buffer.alloc(20_000_000, 'krmhub');
  const sent = send(body.length);
  sent.end(body);
  const { reader, incoming } = await received;
  await expect.poll(() => incoming.isPaused(), { timeout: 60_000 }).toBe(true);
  const first = (await reader.read())!;
  const bytes = first.reduce((sum, { byteLength }) => sum + byteLength, 0);
  expect(bytes).toBeGreaterThanOrEqual(262_144);
  expect(bytes).toBeLessThan(1_000_000);
  expect(bytes + (await readAll(reader)).bytes.length).toBe(body.length);
});

it('rejects after the pieces of a truncated body', async () => {
  const sent = send(1_000);
  sent.write(Buffer.alloc(100));
  const { reader } = await received;
  expect((await reader.read())!.reduce((sum, { byteLength }) => sum + byteLength, 0)).toBe(100);
  const rejected = expect(reader.read()).rejects.toThrow();
  sent.destroy();
  await rejected;
});

it('ends a read that is canceled, and the rest of the body can be drained', async () => {
  const sent = send(1_000_000);
  sent.write(Buffer.alloc(100));
  const { reader, incoming, respond } = await received;
  await reader.read();
  const waiting = reader.read();
  reader.cancel();
  expect(await waiting).toBeUndefined();
  let drained = 0;
  incoming.on('data', (piece: Buffer) => {
    drained += piece.byteLength;
  });
  incoming.resume();
  sent.end(Buffer.alloc(999_900));
  await expect.poll(() => incoming.readableEnded, { timeout: 60_000 }).toBe(true);
  expect(drained).toBe(999_900);
  respond();
});
