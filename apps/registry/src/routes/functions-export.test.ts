import { readExportedFunction, splitLines } from '@krmhub/api/export-client';
import type { ExportedFunction } from '@krmhub/api/export-model';
import { afterEach, describe, expect, it } from 'vitest';
import { SERVER_LIMITS } from '../limits.js';
import { openTestRegistry, releasePath, type TestRegistry } from '../testing/test-registry.js';

let registry: TestRegistry;
afterEach(() => registry.close());

const PATH = '/api/v1/functions.jsonl';

async function exported(response: Response): Promise<ExportedFunction[]> {
  const found: ExportedFunction[] = [];
  const body = response.body as unknown as AsyncIterable<Uint8Array>;
  for await (const line of splitLines(body, 'the test')) found.push(readExportedFunction(line, 'the test'));
  return found;
}

describe('the export of all functions', () => {
  it('has all releases, in the order in which snapshots are built', async () => {
    registry = await openTestRegistry();
    await registry.publish({ kind: 'SetLabels', release: '1.0.0' });
    await registry.publish({ kind: 'SetLabels', release: '1.1.0', versions: ['v1', 'v1beta1'] });
    await registry.publish({ kind: 'Apply', release: '0.1.0', tags: ['mutator', 'validator'] });
    const { secret } = await registry.token({});
    const headers = { Authorization: `Bearer ${secret}`, 'Content-Type': 'application/json' };
    const path = `${releasePath({ kind: 'SetLabels', release: '1.0.0' })}/yank`;
    await registry.request(path, { method: 'POST', headers, body: '{"reason":"bad"}' });
    const response = await registry.request(PATH);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/x-ndjson');
    const found = await exported(response);
    expect(found.map(({ kind, releases }) => [kind, ...releases.map(({ release }) => release)])).toEqual([
      ['Apply', '0.1.0'],
      ['SetLabels', '1.1.0', '1.0.0'],
    ]);
    const [, setLabels] = found;
    const record = await registry.parts.store.release('example.com', 'SetLabels', '1.0.0');
    const { group: _, kind: __, mediaType: ___, ...summary } = record!;
    expect(setLabels!.releases[1]).toEqual(summary);
    expect(setLabels!.releases[1]!.yanked?.reason).toBe('bad');
  });

  it('is empty for an empty registry, and accepts no parameters', async () => {
    registry = await openTestRegistry();
    expect(await (await registry.request(PATH)).text()).toBe('');
    expect((await registry.request(`${PATH}?limit=1`)).status).toBe(400);
    const head = await registry.request(PATH, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    expect((await registry.request(PATH, { method: 'POST' })).status).toBe(405);
  });

  it('names functions without a release, because their groups stay reserved', async () => {
    registry = await openTestRegistry();
    await registry.publish({ kind: 'Apply', release: '1.0.0' });
    await registry.publish({ kind: 'Apply', release: '2.0.0' });
    await registry.publish({ kind: 'SetLabels', release: '1.0.0' });
    await registry.publish({ kind: 'SetLabels', release: '2.0.0' });
    const { secret } = await registry.token({ scopes: ['admin'] });
    const headers = { Authorization: `Bearer ${secret}`, 'Content-Type': 'application/json' };
    for (const [kind, release] of [
      ['Apply', '1.0.0'],
      ['Apply', '2.0.0'],
      ['SetLabels', '1.0.0'],
    ] as const) {
      const path = `${releasePath({ kind, release })}/takedown`;
      const { status } = await registry.request(path, {
        method: 'POST',
        headers,
        body: '{"reason":"leaked"}',
      });
      expect(status).toBe(200);
    }
    const found = await exported(await registry.request(PATH));
    expect(found.map(({ kind, releases }) => [kind, releases.length])).toEqual([
      ['SetLabels', 1],
      ['Apply', 0],
    ]);
  });

  it('leaves out functions that are taken down meanwhile', async () => {
    registry = await openTestRegistry({
      wrapStore: (store) => ({
        ...store,
        release: async (group, kind, release) =>
          release === '2.0.0' || kind === 'Apply' ? undefined : store.release(group, kind, release),
      }),
    });
    await registry.publish({ kind: 'Apply', release: '1.0.0' }, '');
    await registry.publish({ kind: 'SetLabels', release: '1.0.0' }, '');
    await registry.publish({ kind: 'SetLabels', release: '2.0.0' }, '');
    const found = await exported(await registry.request(PATH));
    expect(found.map(({ kind, releases }) => [kind, releases.length])).toEqual([['SetLabels', 1]]);
  });
});

describe('a slow client', () => {
  const COUNT = 160;

  it('makes the export wait, and ends it by disconnecting', async () => {
    let reads = 0;
    registry = await openTestRegistry({
      start: false,
      wrapStore: (store) => ({
        ...store,
        release: (...name) => {
          reads += 1;
          return store.release(...name);
        },
      }),
    });
    const description = 'long '.repeat(400);
    for (let at = 0; at < COUNT; at++)
      await registry.publish({ kind: `Kind${at}`, release: '1.0.0', description }, '');
    reads = 0;
    const response = await registry.request(PATH);
    expect(reads).toBe(0);
    const reader = response.body!.getReader();
    const { value } = await reader.read();
    expect(value!.length).toBeLessThan(2 * SERVER_LIMITS.exportPieceBytes);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const first = reads;
    expect(first).toBeLessThan(COUNT / 2);
    await reader.read();
    expect(reads).toBeGreaterThan(first);
    const second = reads;
    await reader.cancel();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(reads).toBe(second);
  });

  it('delays others only while there are many of them', async () => {
    registry = await openTestRegistry({ start: false });
    const all: Response[] = [];
    for (let at = 0; at < SERVER_LIMITS.maxExports; at++) all.push(await registry.request(PATH));
    const refused = await registry.request(PATH);
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).not.toBeNull();
    await all[0]!.body!.cancel();
    expect(await (await registry.request(PATH)).text()).toBe('');
    expect((await registry.request(PATH)).status).toBe(200);
    expect((await registry.request(PATH)).status).toBe(503);
  });
});
