import { gunzipSync } from 'node:zlib';
import { beginsSegment } from '@krmhub/catalog';
import { sha256 } from '@krmhub/schema';
import { afterEach, expect, it } from 'vitest';
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

it('reads unchanged segments as a whole, and entries only where something changed', async () => {
  let entries = 0;
  let runs = 0;
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
      async *entryRuns(...given) {
        for await (const run of store.entryRuns(...given)) {
          runs += 1;
          yield run;
        }
      },
    }),
  });
  const kinds = firstKinds();
  for (const kind of kinds) await registry.publish({ kind, release: '1.0.0' });
  for (const kind of kinds) await registry.publish({ kind: `${kind}b`, release: '1.0.0' });
  [entries, runs] = [0, 0];
  await registry.publish({ kind: `${kinds[2]}b`, release: '1.1.0' });
  // The changed segment, and the first entry after it; the others as a whole.
  expect([entries, runs]).toEqual([3, SEGMENTS - 1]);

  const [snapshot] = await registry.parts.store.snapshots('default', 1);
  for (const rendition of ['catalog.yaml', 'catalog.json'] as const) {
    for (const kind of ['Catalog', 'KRMFunctionCatalog']) {
      const answer = await registry.request(`/catalogs/default/${rendition}?kind=${kind}`, {
        headers: { 'Accept-Encoding': 'gzip' },
      });
      // Its end has the CRC of the document.
      const text = gunzipSync(Buffer.from(await answer.arrayBuffer()));
      const name = kind === 'Catalog' ? rendition : (`krmfunction${rendition}` as const);
      expect(sha256(text)).toBe(snapshot!.digests[name]);
      expect(text.byteLength).toBe(snapshot!.documents![name].bytes);
    }
  }
});
