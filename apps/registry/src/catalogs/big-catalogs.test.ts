import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { openTestRegistry, type TestRegistry } from '../testing/test-registry.js';

/** Treats every catalog as large: reads it from the disk, and compresses it after it is served. */
let registry: TestRegistry;
beforeEach(async () => {
  registry = await openTestRegistry({ maxCacheBytes: 100, maxCompressedFirstBytes: 10 });
});
afterEach(() => registry.close());

const read = (headers: Record<string, string> = {}, method = 'GET') =>
  registry.request('/catalogs/default/catalog.yaml', { method, headers });

it('serves a large catalog uncompressed until it is compressed', async () => {
  await registry.publish({ kind: 'SetLabels', release: '1.0.0' });
  const plain = await read();
  const text = await plain.text();
  expect(text).toContain('SetLabels');
  expect(plain.headers.get('content-length')).toBe(String(Buffer.byteLength(text)));
  const head = await read({}, 'HEAD');
  expect(head.headers.get('content-length')).toBe(plain.headers.get('content-length'));
  expect(await head.text()).toBe('');

  const compressed = await vi.waitFor(async () => {
    const answer = await read({ 'Accept-Encoding': 'gzip' });
    const bytes = Buffer.from(await answer.arrayBuffer());
    expect(answer.headers.get('content-length')).toBe(String(bytes.byteLength));
    if (answer.headers.get('content-encoding') === null) expect(bytes.toString()).toBe(text);
    expect(answer.headers.get('content-encoding')).toBe('gzip');
    expect(gunzipSync(bytes).toString()).toBe(text);
    return answer;
  }, 300_000);
  for (const tag of [plain.headers.get('etag')!, compressed.headers.get('etag')!]) {
    for (const coding of ['identity', 'gzip']) {
      const again = await read({ 'If-None-Match': tag, 'Accept-Encoding': coding });
      expect([again.status, again.headers.get('etag')]).toEqual([304, tag]);
    }
  }
});

it('compresses after a restart what it could not compress before', async () => {
  await registry.close();
  const failing = await openTestRegistry({
    maxCompressedFirstBytes: 10,
    wrapStore: (store) => ({
      ...store,
      recordRenditions: async (forms) => {
        if (forms.some(({ coding }) => coding !== 'identity')) throw new Error('no room');
        return store.recordRenditions(forms);
      },
    }),
  });
  const { status } = await failing.publish({ kind: 'SetLabels', release: '1.0.0' });
  expect(status).toBe(201);
  await vi.waitFor(() => expect(failing.logged.join()).toContain('cannot compress a catalog'), 60_000);
  registry = failing;
  const text = await (await read({ 'Accept-Encoding': 'br' })).text();
  expect(text).toContain('SetLabels');
  registry = await failing.reopen();
  await vi.waitFor(async () => {
    const answer = await read({ 'Accept-Encoding': 'br' });
    await answer.arrayBuffer();
    expect(answer.headers.get('content-encoding')).toBe('br');
  }, 300_000);
});

it('serves a large catalog under its other kind, before and after compression', async () => {
  await registry.publish({ kind: 'SetLabels', release: '1.0.0' });
  for (const name of ['catalog.yaml', 'catalog.json']) {
    const address = `/catalogs/default/${name}?kind=KRMFunctionCatalog`;
    const usual = await (await registry.request(`/catalogs/default/${name}`)).text();
    const expected = usual.replace(/(kind"?: ?"?)Catalog/, '$1KRMFunctionCatalog');
    expect(expected).not.toBe(usual);
    expect(await (await registry.request(address)).text()).toBe(expected);
    await vi.waitFor(async () => {
      const answer = await registry.request(address, { headers: { 'Accept-Encoding': 'gzip' } });
      const bytes = Buffer.from(await answer.arrayBuffer());
      expect(answer.headers.get('content-encoding')).toBe('gzip');
      expect(gunzipSync(bytes).toString()).toBe(expected);
    }, 300_000);
  }
});
