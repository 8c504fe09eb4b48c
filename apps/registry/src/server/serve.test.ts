import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { definitionText, releasePath } from '../testing/test-registry.js';
import { readConfig } from './config.js';
import { type RunningRegistry, startRegistry } from './serve.js';

let folder: string;
let registry: RunningRegistry;
let bearer: string;
let port: number;

async function start(): Promise<void> {
  const config = readConfig({}, { port: '0', data: path.join(folder, 'data') });
  registry = await startRegistry({ config, log: pino({ level: 'silent' }) });
  bearer = `Bearer ${(await readFile(registry.adminTokenFile, 'utf8')).trim()}`;
  port = Number(new URL(registry.url).port);
}
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'krmhub-'));
  await start();
});
afterEach(async () => {
  await registry.close();
  await rm(folder, { recursive: true });
});

const set = { kind: 'SetLabels', release: '1.0.0' };
const publish = (release = set.release) =>
  fetch(`${registry.url}${releasePath({ ...set, release })}?wait=true`, {
    method: 'PUT',
    headers: { Authorization: bearer, 'Content-Type': 'application/yaml' },
    body: definitionText(set),
  });

/** Sends raw bytes. Returns what was received when the connection ended or the head of a response was complete. */
async function raw(bytes: string, options: { more?: (socket: Socket) => Promise<void> } = {}) {
  const socket = connect(port, '127.0.0.1');
  let received = '';
  let ended = false;
  socket.on('data', (data) => {
    received += data.toString('latin1');
  });
  socket.on('close', () => {
    ended = true;
  });
  socket.on('error', () => undefined);
  socket.write(bytes);
  await options.more?.(socket);
  await expect.poll(() => ended || received.includes('\r\n\r\n'), { interval: 10 }).toBe(true);
  socket.destroy();
  return { received, status: Number(received.slice(9, 12)) };
}

const putHead = (...headers: string[]) =>
  [
    `PUT ${releasePath(set)} HTTP/1.1`,
    'Host: x',
    `Authorization: ${bearer}`,
    'Content-Type: application/yaml',
    ...headers,
    '',
    '',
  ].join('\r\n');

describe('a running registry', () => {
  it('restricts its folder and token to the owner, and preserves data across a restart', async () => {
    expect((await stat(path.join(folder, 'data'))).mode & 0o777).toBe(0o700);
    expect((await stat(registry.adminTokenFile)).mode & 0o777).toBe(0o600);
    expect(registry.adminTokenCreated).toBe(true);
    expect((await publish()).status).toBe(201);
    const before = await (await fetch(`${registry.url}/catalogs/default/catalog.yaml`)).text();
    await registry.close();
    await start();
    expect(registry.adminTokenCreated).toBe(false);
    expect(await (await fetch(`${registry.url}/catalogs/default/catalog.yaml`)).text()).toBe(before);
    expect((await publish()).status).toBe(200);
  });

  it('removes at its start what fetches of a killed process left', async () => {
    await registry.close();
    const fetching = path.join(folder, 'data', 'fetching');
    await mkdir(path.join(fetching, 'krmhub-git-x'), { recursive: true });
    await writeFile(path.join(fetching, 'krmhub-git-x', 'pack'), 'x');
    await start();
    await expect(stat(fetching)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('accepts multipart forms over a socket', async () => {
    const form = new FormData();
    form.append('definition', new Blob([definitionText(set)], { type: 'application/yaml' }), 'definition');
    form.append('readme', new Blob(['# Read me\n'], { type: 'text/markdown' }), 'README.md');
    const response = await fetch(`${registry.url}${releasePath(set)}`, {
      method: 'PUT',
      headers: { Authorization: bearer },
      body: form,
    });
    expect(response.status).toBe(201);
    const readme = await fetch(`${registry.url}${releasePath(set)}/readme.md`);
    expect(await readme.text()).toBe('# Read me\n');
  });

  it('sends correct codings, lengths, HEAD and 304 responses on the wire', async () => {
    await publish();
    const target = '/catalogs/default/catalog.yaml';
    const get = (method: string, headers: Record<string, string>) =>
      new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; body: Buffer }>(
        (resolve, reject) => {
          const sent = request(`${registry.url}${target}`, { method, headers }, (response) => {
            const chunks: Buffer[] = [];
            response.on('data', (chunk: Buffer) => chunks.push(chunk));
            response.on('end', () =>
              resolve({
                status: response.statusCode ?? 0,
                headers: response.headers,
                body: Buffer.concat(chunks),
              }),
            );
          });
          sent.on('error', reject).end();
        },
      );
    const plain = await get('GET', {});
    expect(plain.headers['content-length']).toBe(String(plain.body.byteLength));
    const gzip = await get('GET', { 'Accept-Encoding': 'gzip' });
    expect(gzip.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(gzip.body)).toEqual(plain.body);
    const head = await get('HEAD', { 'Accept-Encoding': 'gzip' });
    expect([head.status, head.body.byteLength]).toEqual([200, 0]);
    expect(head.headers['content-length']).toBe(String(gzip.body.byteLength));
    expect(head.headers.etag).toBe(gzip.headers.etag);
    const same = await get('GET', { 'If-None-Match': String(plain.headers.etag) });
    expect([same.status, same.body.byteLength]).toEqual([304, 0]);
  });

  it('rejects oversized bodies, declared or chunked, before they are complete', async () => {
    const declared = await raw(putHead('Content-Length: 99999999'));
    expect(declared.status).toBe(413);
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    const chunked = await raw(putHead('Transfer-Encoding: chunked'), {
      more: async (socket) => {
        for (let index = 0; index < 20 && !socket.destroyed; index++) socket.write(chunk);
      },
    });
    expect(chunked.status).toBe(413);
    expect(chunked.received.toLowerCase()).toContain('connection: close');
    expect((await publish()).status).toBe(201);
  });

  it('survives truncated bodies, wrong lengths and tiny chunks', async () => {
    await raw(`${putHead('Content-Length: 5000')}spec:`, { more: async (socket) => void socket.end() });
    const text = definitionText(set);
    const lying = await raw(putHead(`Content-Length: ${text.length - 20}`) + text);
    expect(lying.received).not.toContain('HTTP/1.1 201');
    const both = await raw(`${putHead('Content-Length: 5', 'Transfer-Encoding: chunked')}0\r\n\r\n`);
    expect(both.status).toBe(400);
    const pieces = [...text].map((character) => `1\r\n${character}\r\n`).join('');
    const tiny = await raw(`${putHead('Transfer-Encoding: chunked')}${pieces}0\r\n\r\n`);
    expect(tiny.status).toBe(201);
  });

  it.each(['a^b', 'a b', 'user@evil'])('rejects a Host header that is not a name: %j', async (host) => {
    const { status } = await raw(`GET /functions HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    expect(status).toBe(400);
  });

  it.each(['Host: x\r\nHost: x', 'Host: a\r\nX: y\r\nhOST: b'])(
    'rejects two Host headers: %j',
    async (hosts) => {
      const { received, status } = await raw(`GET /healthz HTTP/1.1\r\n${hosts}\r\n\r\n`);
      expect([status, received]).toEqual([400, expect.stringContaining('more than one Host header')]);
      const after = `GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /healthz HTTP/1.1\r\n${hosts}\r\n\r\n`;
      const pipelined = await raw(after, { more: () => new Promise((resolve) => setTimeout(resolve, 200)) });
      expect(pipelined.received).toMatch(/^HTTP\/1\.1 200 [\s\S]*HTTP\/1\.1 400 /);
    },
  );

  it.each([
    '/x/../metrics',
    '/healthz/.',
    '/..',
    '/./healthz?a',
    '/.%2e/healthz',
    '/x/%2E%2e/healthz',
    '/catalogs/default/snapshots/1/../2/catalog.yaml',
    '/catalogs/default/./catalog.yaml#x',
    '/x\\..\\healthz',
    '/catalogs\\default/catalog.yaml',
    'http://x/../healthz',
  ])('rejects another spelling of a path: %s', async (target) => {
    const { received, status } = await raw(`GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`);
    expect([status, received]).toEqual([400, expect.stringContaining('the path has a segment')]);
  });

  it.each([
    '/healthz?../..',
    '/healthz?a=/../b\\c',
    '/.well-known/x',
    '/..x',
    '/x..',
    '/...',
    '/%2e%2e%2fhealthz',
  ])('accepts a path that has only one spelling: %s', async (target) => {
    const { received } = await raw(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    expect(received).not.toContain('the path has a segment');
  });

  it('rejects oversized headers', async () => {
    expect((await raw(`GET / HTTP/1.1\r\nHost: x\r\nX-Large: ${'x'.repeat(20_000)}\r\n\r\n`)).status).toBe(
      431,
    );
  });

  it('finishes requests in flight when it stops, and accepts no more', async () => {
    const text = definitionText(set);
    const socket = connect(port, '127.0.0.1');
    let received = '';
    socket.on('data', (data) => {
      received += data.toString();
    });
    const ended = new Promise((resolve) => socket.on('close', resolve));
    const idle = connect(port, '127.0.0.1');
    const idleEnded = new Promise((resolve) => idle.on('close', resolve));
    idle.on('error', () => undefined);
    socket.write(putHead(`Content-Length: ${text.length}`, 'Expect: 100-continue'));
    await expect.poll(() => received, { interval: 10 }).toContain('HTTP/1.1 100 Continue\r\n\r\n');
    socket.write(text.slice(0, 100));
    const closed = registry.close();
    await idleEnded;
    await expect(fetch(registry.url)).rejects.toThrow();
    socket.write(text.slice(100));
    await ended;
    expect(received).toContain('HTTP/1.1 201');
    await closed;
    await start();
    expect((await publish()).status).toBe(200);
  });

  it('serves requests for a delay when it stops, but is not ready and keeps no connections', async () => {
    await registry.close();
    const config = readConfig(
      { KRMHUB_SHUTDOWN_DELAY_SECONDS: '5' },
      { port: String(port), data: path.join(folder, 'data') },
    );
    registry = await startRegistry({ config, log: pino({ level: 'silent' }) });
    // On a busy machine, a check can fail.
    await expect.poll(async () => (await fetch(`${registry.url}/readyz`)).status).toBe(200);
    const before = await fetch(`${registry.url}/readyz`);
    expect([before.status, before.headers.get('connection')]).toEqual([200, 'keep-alive']);
    const closed = registry.close();
    const during = await fetch(`${registry.url}/readyz`);
    expect([during.status, during.headers.get('connection')]).toEqual([503, 'close']);
    expect(await during.json()).toMatchObject({
      status: 'failing',
      checks: expect.arrayContaining([expect.objectContaining({ name: 'shutdown', status: 'failing' })]),
    });
    const catalog = await fetch(`${registry.url}/catalogs/default/catalog.yaml`);
    expect([catalog.status, catalog.headers.get('connection')]).toEqual([200, 'close']);
    await closed;
    await expect(fetch(registry.url)).rejects.toThrow();
    await start();
  });

  it('reports why it cannot listen or use a folder', async () => {
    const log = pino({ level: 'silent' });
    const taken = readConfig({}, { port: String(port), data: path.join(folder, 'other') });
    await expect(startRegistry({ config: taken, log })).rejects.toMatchObject({ code: 'usage' });
    const file = readConfig({}, { port: '0', data: registry.adminTokenFile });
    await expect(startRegistry({ config: file, log })).rejects.toMatchObject({ code: 'usage' });
  });

  it('releases the port and the database if a start fails after it listens', async () => {
    await registry.close();
    const again = readConfig({}, { port: String(port), data: path.join(folder, 'data') });
    const broken = pino(
      {},
      {
        write: (line: string) => {
          if (line.includes('registry started')) throw new Error('the log is gone');
        },
      },
    );
    await expect(startRegistry({ config: again, log: broken })).rejects.toThrow('the log is gone');
    await expect(fetch(`http://127.0.0.1:${port}/healthz`)).rejects.toThrow();
    // Neither the port nor the database is locked.
    registry = await startRegistry({ config: again, log: pino({ level: 'silent' }) });
    expect((await fetch(`${registry.url}/healthz`)).status).toBe(200);
  });
});
