import { once } from 'node:events';
import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { computeDigest, type OciDigest } from '@krmhub/oci';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SERVER_LIMITS } from '../../apps/registry/src/limits.js';
import { type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';

/** Interrupted and failing pushes and pulls, against a registry in a separate process. */

const { folder, remove } = temporaryFolder();
let registry: RunningRegistry;
beforeAll(async () => {
  registry = await startRegistry(path.join(folder, 'data'));
});
afterAll(async () => {
  expect(await registry.stop()).toBe(0);
  remove();
});

const BLOBS = '/v2/team/broken/blobs';
const filled = (length: number, byte: number) => Buffer.alloc(length, byte);
const ask = (target: string, init: RequestInit = {}) =>
  fetch(registry.url + target, {
    ...init,
    headers: { authorization: `Bearer ${registry.token}`, ...init.headers },
  });
const push = (bytes: Buffer, digest: OciDigest = computeDigest(bytes)) =>
  ask(`${BLOBS}/uploads/?digest=${digest}`, { method: 'POST', body: new Uint8Array(bytes) });
const files = (below: string) =>
  readdirSync(path.join(registry.data, 'artifacts', below), { recursive: true, encoding: 'utf8' }).filter(
    (name) => path.basename(name).length > 2,
  );

/** Sends a head that declares more bytes than follow, some of them, and ends the connection. */
function breakOff(method: string, target: string, promised: number, sent: Buffer, more = ''): Promise<void> {
  const { hostname, port } = new URL(registry.url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    socket.on('error', reject);
    socket.on('close', () => resolve());
    const head = `${method} ${target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${registry.token}\r\nContent-Length: ${promised}\r\n${more}\r\n`;
    socket.write(Buffer.concat([Buffer.from(head), sent]), () => sleep(300).then(() => socket.destroy()));
  });
}

it('stores nothing of an interrupted blob, and continues an interrupted chunk', async () => {
  const bytes = filled(500_000, 1);
  const digest = computeDigest(bytes);
  await breakOff('POST', `${BLOBS}/uploads/?digest=${digest}`, bytes.length, bytes.subarray(0, 200_000));
  await expect.poll(() => files('unfinished')).toEqual([]);
  expect((await ask(`${BLOBS}/${digest}`)).status).toBe(404);

  const location = (await ask(`${BLOBS}/uploads/`, { method: 'POST' })).headers.get('location')!;
  await breakOff(
    'PATCH',
    location,
    bytes.length,
    bytes.subarray(0, 200_000),
    `Content-Range: 0-${bytes.length - 1}\r\n`,
  );
  await expect.poll(async () => (await ask(location)).headers.get('range')).toBe('0-199999');
  const rest = bytes.subarray(200_000);
  const headers = { 'content-range': `200000-${bytes.length - 1}` };
  const done = await ask(`${location}?digest=${digest}`, {
    method: 'PUT',
    body: new Uint8Array(rest),
    headers,
  });
  expect(done.status).toBe(201);
  expect(Buffer.from(await (await ask(`${BLOBS}/${digest}`)).arrayBuffer()).equals(bytes)).toBe(true);
});

it('stores one blob from 50 concurrent pushes', async () => {
  const bytes = filled(300_000, 4);
  const answers = await Promise.all(Array.from({ length: 50 }, () => push(bytes)));
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 201));
  const stored = Buffer.from(await (await ask(`${BLOBS}/${computeDigest(bytes)}`)).arrayBuffer());
  expect(stored.equals(bytes)).toBe(true);
  expect(files('unfinished')).toEqual([]);
});

it('serves a blob completely although it is deleted meanwhile', async () => {
  const bytes = filled(20_000_000, 5);
  const digest = computeDigest(bytes);
  expect((await push(bytes)).status).toBe(201);
  const { hostname, port } = new URL(registry.url);
  const received = await new Promise<Buffer>((resolve, reject) => {
    request({ hostname, port, path: `${BLOBS}/${digest}` }, async (answer) => {
      const pieces: Buffer[] = [];
      const deleted = await ask(`${BLOBS}/${digest}`, { method: 'DELETE' });
      if (deleted.status !== 202) reject(new Error(`deleted with ${deleted.status}`));
      answer
        .on('data', (piece: Buffer) => pieces.push(piece))
        .on('end', () => resolve(Buffer.concat(pieces)));
      answer.on('error', reject);
    }).end();
  });
  expect(received.equals(bytes)).toBe(true);
  expect((await ask(`${BLOBS}/${digest}`)).status).toBe(404);
});

it('keeps serving while a reader stops in the middle', async () => {
  const bytes = filled(20_000_000, 6);
  const digest = computeDigest(bytes);
  expect((await push(bytes)).status).toBe(201);
  const { hostname, port } = new URL(registry.url);
  for (let turn = 0; turn < 20; turn++) {
    await new Promise<void>((resolve) => {
      const asked = request({ hostname, port, path: `${BLOBS}/${digest}` }, (answer) => {
        answer.once('data', () => {
          asked.destroy();
          resolve();
        });
        answer.on('error', () => undefined);
      });
      asked.on('error', () => undefined).end();
    });
  }
  // An interrupted client leaves no file open.
  if (existsSync('/proc/self/fd')) await expect.poll(openBlobs).toEqual([]);
  expect((await ask(`${BLOBS}/${digest}`, { method: 'HEAD' })).status).toBe(200);
});

function openBlobs(): string[] {
  const folder = `/proc/${registry.pid}/fd`;
  return readdirSync(folder).flatMap((name) => {
    try {
      const file = readlinkSync(path.join(folder, name));
      return file.includes('/artifacts/') ? [file] : [];
    } catch {
      return [];
    }
  });
}

it.each([undefined, 'bytes=1000-99999', 'bytes=-70000', 'bytes=199999-', 'bytes=200000-'])(
  'serves big blobs with the same response as the routes, Range: %s',
  async (range) => {
    const bytes = Buffer.from(Uint8Array.from({ length: 200_000 }, (_, at) => (at * 7) % 256));
    const digest = computeDigest(bytes);
    expect((await push(bytes)).status).toBe(201);
    const headers = { 'x-request-id': 'one', ...(range !== undefined && { range }) };
    const told = async (more: Record<string, string>) => {
      const answer = await ask(`${BLOBS}/${digest}`, { headers: { ...headers, ...more } });
      const sent = Object.fromEntries([...answer.headers].filter(([name]) => name !== 'date'));
      return {
        status: answer.status,
        sent,
        body: Buffer.from(await answer.arrayBuffer()).toString('base64'),
      };
    };
    const direct = await told({});
    // The routes handle conditional requests.
    expect(direct).toEqual(await told({ 'if-range': `"${digest}"` }));
    expect(direct.status).toBe(range === undefined ? 200 : range === 'bytes=200000-' ? 416 : 206);
  },
);

it('limits the memory for bodies of one token, and accepts those of others', async () => {
  const { hostname, port } = new URL(registry.url);
  const created = await ask('/api/v1/tokens', {
    method: 'POST',
    body: JSON.stringify({ name: 'other', scopes: ['push'], repositories: ['*'] }),
    headers: { 'content-type': 'application/json' },
  });
  const { token: other } = (await created.json()) as { token: string };
  const size = 4_194_304;
  const sendSlowly = async () => {
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.write(
      `PUT /v2/team/slow/manifests/v1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${registry.token}\r\nContent-Type: application/vnd.oci.image.manifest.v1+json\r\nContent-Length: ${size}\r\n\r\n`,
    );
    // All but the last byte: the request waits for it.
    socket.write(Buffer.alloc(size - 1, ' '));
    return socket;
  };
  const count = SERVER_LIMITS.maxBodyMemoryOfClientBytes / size;
  const sockets = await Promise.all(Array.from({ length: count }, sendSlowly));
  const put = async (token = registry.token) => {
    const headers = {
      'content-type': 'application/vnd.oci.image.manifest.v1+json',
      authorization: `Bearer ${token}`,
    };
    const init = { method: 'PUT', body: '{"schemaVersion":2}', headers };
    return (await fetch(`${registry.url}/v2/team/slow/manifests/v1`, init)).status;
  };
  const fill = async () => {
    const status = await put();
    // A slow one may itself be refused, while the memory is held by such a small one.
    if (status !== 503) sockets.push(await sendSlowly());
    return status;
  };
  await expect.poll(fill).toBe(503);
  expect(await put(other)).toBe(400);
  for (const socket of sockets) socket.destroy();
  await expect.poll(() => put()).toBe(400);
});
