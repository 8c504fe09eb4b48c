import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readConfig } from './config.js';
import { startRegistry } from './serve.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'krmhub-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** Returns a port of this machine on which nothing listens now. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

describe('a registry whose servers are away at its start', () => {
  it.each([
    [
      'store',
      'database server',
      (away: number) => ({ KRMHUB_DATABASE_URL: `postgres://krmhub@127.0.0.1:${away}/krmhub` }),
    ],
    [
      'blobs',
      'store of the blobs',
      (away: number) => ({
        KRMHUB_BLOB_URL: `s3://bucket/prefix?endpoint=http://127.0.0.1:${away}`,
        AWS_ACCESS_KEY_ID: 'key',
        AWS_SECRET_ACCESS_KEY: 'secret',
      }),
    ],
  ])('waits, says why, and writes nothing until it is stopped: %s', async (check, what, environment) => {
    const [port, away] = [await freePort(), await freePort()];
    const data = path.join(folder, 'data');
    const config = readConfig(environment(away), { port: String(port), data });
    const lines: string[] = [];
    const stopping = new AbortController();
    const started = startRegistry({
      config,
      log: pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) }),
      signal: stopping.signal,
    });
    started.catch(() => undefined);
    const get = (target: string) => fetch(`http://127.0.0.1:${port}${target}`);
    // At least one retry.
    await expect.poll(() => lines.length).toBeGreaterThan(1);
    expect(lines[0]).toContain('cannot start yet');
    expect(lines[0]).toContain(String(away));
    expect((await get('/healthz')).status).toBe(200);
    for (const target of ['/readyz', '/readyz?exclude=store&exclude=blobs']) {
      const ready = await get(target);
      expect([ready.status, await ready.json()]).toEqual([
        503,
        {
          status: 'failing',
          checks: [{ name: check, status: 'failing', detail: expect.stringContaining(what) }],
        },
      ]);
    }
    const other = await get('/catalogs/default/catalog.yaml');
    const text = await other.text();
    expect([other.status, other.headers.get('retry-after')]).toEqual([503, '5']);
    expect(JSON.parse(text)).toMatchObject({ code: 'unavailable', detail: expect.stringContaining(what) });
    expect(text).not.toContain(String(away));
    expect(readdirSync(folder)).toEqual([]);
    stopping.abort();
    await expect(started).rejects.toMatchObject({ name: 'AbortError' });
    await expect(get('/healthz')).rejects.toThrow();
  });

  it('does not wait for what only another configuration solves', async () => {
    const config = readConfig(
      { KRMHUB_BLOB_URL: 's3://bucket/prefix?endpoint=http://127.0.0.1:1' },
      { port: '0', data: path.join(folder, 'data') },
    );
    await expect(startRegistry({ config, log: pino({ level: 'silent' }) })).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining('there are no credentials'),
    });
  });
});
