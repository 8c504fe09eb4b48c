import { gunzipSync } from 'node:zlib';
import { beginsSegment } from '@krmhub/catalog';
import { type Digest, sha256 } from '@krmhub/schema';
import { afterEach, expect, it } from 'vitest';
import { Database } from '../../store/sqlite/driver.js';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';

let registry: TestRegistry;
afterEach(() => registry.close());

const SEGMENTS = 5;

/** Returns kinds of the tests' group in order, the first of each segment. */
function firstKinds(): string[] {
  const kinds: string[] = [];
  for (let at = 1_000; kinds.length < SEGMENTS; at += 1) {
    const kind = `Fn${at}`;
    if (beginsSegment({ group: 'example.com', kind })) kinds.push(kind);
  }
  return kinds;
}

/** Checks that all documents of the newest snapshot have its digests, in gzip and from the entries. */
async function checkDocuments(functions: number): Promise<void> {
  const [snapshot] = await registry.parts.store.snapshots('default', 1);
  expect(snapshot!.functions).toBe(functions);
  for (const rendition of ['catalog.yaml', 'catalog.json'] as const) {
    for (const kind of ['Catalog', 'KRMFunctionCatalog']) {
      const address = `/catalogs/default/${rendition}?kind=${kind}`;
      const answer = await registry.request(address, { headers: { 'Accept-Encoding': 'gzip' } });
      // Its end has the CRC of the document.
      const text = gunzipSync(Buffer.from(await answer.arrayBuffer()));
      const name = kind === 'Catalog' ? rendition : (`krmfunction${rendition}` as const);
      expect(sha256(text)).toBe(snapshot!.digests[name]);
      expect(text.byteLength).toBe(snapshot!.documents![name].bytes);
      const plain = await registry.request(address, { headers: { 'Accept-Encoding': 'identity' } });
      expect(await plain.text()).toBe(text.toString());
    }
  }
}

it('reads unchanged segments as a whole, and entries only where something changed', async () => {
  let entries = 0;
  let segments: Digest[] = [];
  registry = await openTestRegistry({
    maxCacheBytes: 100,
    wrapStore: (store) => ({
      ...store,
      async *entryTexts(...given) {
        for await (const entry of store.entryTexts(...given)) {
          entries += 1;
          yield entry;
        }
      },
      segmentContents: (digests) => {
        segments.push(...digests);
        return store.segmentContents(digests);
      },
    }),
  });
  const kinds = firstKinds();
  for (const kind of kinds) await registry.publish({ kind, release: '1.0.0' });
  for (const kind of kinds) await registry.publish({ kind: `${kind}b`, release: '1.0.0' });
  const { store } = registry.parts;
  const [before] = await store.snapshots('default', 1);
  const all = (await store.segments('default', before!.serial))!.map(({ digest }) => digest);
  [entries, segments] = [0, []];
  await registry.publish({ kind: `${kinds[2]}b`, release: '1.1.0' });
  // The changed segment; all segments, with the replaced one.
  expect([entries, segments]).toEqual([2, all]);
  await checkDocuments(2 * SEGMENTS);
});

it('compresses all segments again if one is damaged', async () => {
  let entries = 0;
  registry = await openTestRegistry({
    maxCacheBytes: 100,
    wrapStore: (store) => ({
      ...store,
      async *entryTexts(...given) {
        for await (const entry of store.entryTexts(...given)) {
          entries += 1;
          yield entry;
        }
      },
    }),
  });
  const kinds = firstKinds();
  for (const kind of kinds) await registry.publish({ kind, release: '1.0.0' });
  const database = new Database(registry.parts.paths.database);
  const damages = [
    'UPDATE segment SET yaml = json',
    `UPDATE segment SET json = x'ff' WHERE digest = (SELECT max(digest) FROM segment)`,
    `UPDATE snapshot SET documents = replace(documents, '"crc32":', '"crc32":1')`,
  ];
  for (const [at, damage] of damages.entries()) {
    database.exec(damage);
    entries = 0;
    await registry.publish({ kind: `Other${at}`, release: '1.0.0' });
    expect(entries).toBeGreaterThanOrEqual(SEGMENTS);
    await checkDocuments(SEGMENTS + at + 1);
  }
  // Everything is in order again.
  entries = 0;
  await registry.publish({ kind: kinds[2]!, release: '1.1.0' });
  expect(entries).toBeLessThan(SEGMENTS);
  await checkDocuments(SEGMENTS + damages.length);
  database.close();
});
