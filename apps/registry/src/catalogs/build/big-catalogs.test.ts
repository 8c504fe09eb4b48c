import { gunzipSync } from 'node:zlib';
import type { SnapshotRecord } from '@krmhub/catalog';
import { sha256 } from '@krmhub/schema';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Body } from '../../http/bytes-response.js';
import { Database } from '../../store/sqlite/driver.js';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';
import { deflateSegment, FAST, inflateSegments } from '../segments/gzip.js';

/** Treats every catalog as large: nothing is cached or compressed with brotli. */
const LARGE = { maxCacheBytes: 100, maxBrotliBytes: 10 };

let registry: TestRegistry;
beforeEach(async () => {
  registry = await openTestRegistry(LARGE);
});
afterEach(() => registry.close());

const read = (headers: Record<string, string> = {}, method = 'GET') =>
  registry.request('/catalogs/default/catalog.yaml', { method, headers });

async function readAll(body: Body): Promise<Buffer> {
  if (body instanceof Uint8Array) return Buffer.from(body);
  const pieces: Uint8Array[] = [];
  for await (const piece of body.pieces) pieces.push(piece);
  const bytes = Buffer.concat(pieces);
  expect(bytes.byteLength).toBe(body.size);
  return bytes;
}

const newest = async (): Promise<SnapshotRecord> => (await registry.parts.store.snapshots('default', 1))[0]!;

it('serves a large catalog as a stream, plain and in gzip', async () => {
  await registry.publish({ kind: 'SetLabels', release: '1.0.0' });
  const plain = await read();
  const text = await plain.text();
  expect(text).toContain('SetLabels');
  expect(plain.headers.get('content-length')).toBe(String(Buffer.byteLength(text)));
  const head = await read({}, 'HEAD');
  expect(head.headers.get('content-length')).toBe(plain.headers.get('content-length'));
  expect(await head.text()).toBe('');

  // brotli streams cannot be joined, so gzip is the best coding.
  const compressed = await read({ 'Accept-Encoding': 'gzip, br' });
  const bytes = Buffer.from(await compressed.arrayBuffer());
  expect(compressed.headers.get('content-length')).toBe(String(bytes.byteLength));
  expect(compressed.headers.get('content-encoding')).toBe('gzip');
  expect(gunzipSync(bytes).toString()).toBe(text);
  const brotli = await read({ 'Accept-Encoding': 'br' });
  expect([brotli.headers.get('content-encoding'), await brotli.text()]).toEqual([null, text]);
  for (const tag of [plain.headers.get('etag')!, compressed.headers.get('etag')!]) {
    for (const coding of ['identity', 'gzip']) {
      const again = await read({ 'If-None-Match': tag, 'Accept-Encoding': coding });
      expect([again.status, again.headers.get('etag')]).toEqual([304, tag]);
    }
  }
});

it.each(['catalog.yaml', 'catalog.json'])('serves a large %s under its other kind', async (name) => {
  for (const kind of ['First', 'Second']) await registry.publish({ kind, release: '1.0.0' });
  const address = `/catalogs/default/${name}?kind=KRMFunctionCatalog`;
  const usual = await (await registry.request(`/catalogs/default/${name}`)).text();
  const expected = usual.replace(/(kind"?: ?"?)Catalog/, '$1KRMFunctionCatalog');
  expect(expected).not.toBe(usual);
  expect(await (await registry.request(address)).text()).toBe(expected);
  const answer = await registry.request(address, { headers: { 'Accept-Encoding': 'gzip' } });
  expect(answer.headers.get('content-encoding')).toBe('gzip');
  expect(gunzipSync(Buffer.from(await answer.arrayBuffer())).toString()).toBe(expected);
});

/** Compresses the segments of the newest snapshot as the first build of a large catalog does. */
async function compressFast(): Promise<void> {
  const { store } = registry.parts;
  const segments = (await store.segments('default', (await newest()).serial))!;
  const contents = await store.segmentContents(segments.map(({ digest }) => digest));
  const compress = async (bytes: Uint8Array) =>
    deflateSegment(await inflateSegments([bytes], new Uint8Array()), FAST);
  for (const { digest, yaml, json } of contents.map((content) => content!)) {
    const fast = { digest, yaml: await compress(yaml), json: await compress(json) };
    expect(fast.yaml.byteLength).toBeGreaterThan(yaml.byteLength);
    await store.storeSegments([fast]);
  }
}

it.each([
  ['completes a response', async () => undefined],
  ['completes a response after the first build of a large catalog', compressFast],
])('%s whose segments are replaced meanwhile', async (_, prepare) => {
  for (const kind of ['First', 'Second', 'Third']) await registry.publish({ kind, release: '1.0.0' });
  await prepare();
  const snapshot = await newest();
  const { documents } = registry.parts;
  const renditions = ['catalog.yaml', 'krmfunctioncatalog.json'] as const;
  const plain = await Promise.all(renditions.map((one) => documents.find(snapshot, one, 'identity')));
  const gzip = await Promise.all(renditions.map((one) => documents.find(snapshot, one, 'gzip')));
  for (const release of ['1.1.0', '1.2.0']) await registry.publish({ kind: 'First', release });
  await registry.publish({ kind: 'Another', release: '1.0.0' });
  for (const [index, rendition] of renditions.entries()) {
    expect(gzip[index]!.coding).toBe('gzip');
    const bytes = gunzipSync(await readAll(gzip[index]!.body));
    expect(sha256(bytes)).toBe(snapshot.digests[rendition]);
    expect(sha256(await readAll(plain[index]!.body))).toBe(snapshot.digests[rendition]);
    // From now on, it is uncompressed.
    const later = await documents.find(snapshot, rendition, 'gzip');
    expect(later.coding).toBe('identity');
    expect(sha256(await readAll(later.body))).toBe(snapshot.digests[rendition]);
  }
});

it('fails before the end of a document whose entries are damaged', async () => {
  for (const kind of ['First', 'Second']) await registry.publish({ kind, release: '1.0.0' });
  const snapshot = await newest();
  const database = new Database(registry.parts.paths.database);
  database.exec(`UPDATE entry SET yaml = replace(yaml, 'Second', 'Secand')`);
  database.close();
  const { body } = await registry.parts.documents.find(snapshot, 'catalog.yaml', 'identity');
  await expect(readAll(body)).rejects.toThrow('has digest sha256:');
});

it('compresses the snapshots of an older version after the start, and serves them meanwhile', async () => {
  for (const kind of ['First', 'Second']) await registry.publish({ kind, release: '1.0.0' });
  await registry.publish({ kind: 'First', release: '1.1.0' });
  const snapshot = await newest();
  const expected = await (await read()).text();
  const database = new Database(registry.parts.paths.database);
  const forget = () =>
    database.exec('UPDATE snapshot SET documents = NULL; DELETE FROM catalog_segment; DELETE FROM segment');
  forget();
  const encoded = async () => {
    const answer = await read({ 'Accept-Encoding': 'gzip' });
    const bytes = Buffer.from(await answer.arrayBuffer());
    expect(answer.headers.get('content-length')).toBe(String(bytes.byteLength));
    const coding = answer.headers.get('content-encoding');
    expect((coding === 'gzip' ? gunzipSync(bytes) : bytes).toString()).toBe(expected);
    return coding;
  };
  for (let round = 0; round < 2; round++) {
    forget();
    registry = await registry.reopen();
    await vi.waitFor(async () => expect(await encoded()).toBe('gzip'), 60_000);
  }
  database.close();
  expect(await newest()).toEqual(snapshot);
  for (const serial of [1, 2, 3, 4]) {
    const old = await registry.request(`/catalogs/default/snapshots/${serial}/catalog.json`);
    const { digests } = (await registry.parts.store.snapshot('default', serial))!;
    expect(sha256(await old.text())).toBe(digests['catalog.json']);
  }
  await registry.publish({ kind: 'Third', release: '1.0.0' });
  expect(
    gunzipSync(Buffer.from(await (await read({ 'Accept-Encoding': 'gzip' })).arrayBuffer())).toString(),
  ).toBe(await (await read()).text());
});
