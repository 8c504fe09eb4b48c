import type { SnapshotRendition } from '@krmhub/schema';
import { SNAPSHOT_RENDITIONS, sha256 } from '@krmhub/schema';
import { afterEach, expect, it } from 'vitest';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';

let registry: TestRegistry;
afterEach(() => registry.close());

async function apply(name: string, { labels = '', match = '' } = {}): Promise<void> {
  const recipe = `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: ${name}${labels}}
spec: {sources: [{name: some, functions: {}${match}}]}
`;
  const applied = await registry.send('PUT', `/api/v1/catalogs/${name}`, recipe);
  expect(applied.status, JSON.stringify(applied.body)).toBe(201);
}

const ADDRESSES: Record<SnapshotRendition, string> = {
  'catalog.yaml': 'catalog.yaml',
  'catalog.json': 'catalog.json',
  'krmfunctioncatalog.yaml': 'catalog.yaml?kind=KRMFunctionCatalog',
  'krmfunctioncatalog.json': 'catalog.json?kind=KRMFunctionCatalog',
};

/** Checks the documents of a catalog, as they are made of its entries, against the digests of its newest snapshot. */
async function check(name: string, functions: number): Promise<void> {
  const [newest] = await registry.parts.store.snapshots(name, 1);
  expect([name, newest?.functions]).toEqual([name, functions]);
  for (const rendition of SNAPSHOT_RENDITIONS) {
    const answer = await registry.request(`/catalogs/${name}/${ADDRESSES[rendition]}`);
    expect(sha256(await answer.text())).toBe(newest!.digests[rendition]);
  }
  const { status } = await registry.request(`/catalogs/${name}/snapshots/${newest!.serial}/snapshot.json`);
  expect(status).toBe(200);
}

it('builds new catalogs with the same entries once, and each by itself afterwards', async () => {
  const read: number[] = [];
  registry = await openTestRegistry({
    maxCacheBytes: 100,
    wrapStore: (store) => ({
      ...store,
      entryTextsOf: (digests) => {
        read.push(digests.length);
        return store.entryTextsOf(digests);
      },
    }),
  });
  const kinds = Array.from({ length: 70 }, (_, at) => `Fn${at}`);
  for (const kind of kinds) await registry.publish({ kind, release: '1.0.0' }, '');
  await registry.waitForCatalogs();
  const { snapshotBuilder } = registry.parts;
  await snapshotBuilder.pause();
  const same = ['first', 'second', 'third', 'fourth'];
  for (const [at, name] of same.entries())
    await apply(name, { labels: at === 1 ? ', labels: {team: a}' : '' });
  await apply('other', { match: ', match: [{kind: Fn1}]' });
  read.length = 0;
  snapshotBuilder.resume();
  await registry.waitForCatalogs();
  // Once for the four, and the entry of the other one.
  expect(read.reduce((sum, count) => sum + count, 0)).toBe(71);
  for (const name of same) await check(name, 70);
  await check('other', 1);
  await registry.publish({ kind: 'Later', release: '1.0.0' });
  await registry.publish({ kind: 'Fn3', release: '1.1.0' });
  await registry.waitForCatalogs();
  for (const name of same) await check(name, 71);
});

it('builds a catalog by itself whose recipe changes meanwhile', async () => {
  let meanwhile = async () => undefined as unknown;
  registry = await openTestRegistry({
    wrapStore: (store) => ({
      ...store,
      async commitSnapshot(build, ...rest) {
        const work = meanwhile;
        if (build.catalog === 'first') {
          meanwhile = async () => undefined;
          await work();
        }
        await store.commitSnapshot(build, ...rest);
      },
    }),
  });
  for (const kind of ['One', 'Two', 'Three']) await registry.publish({ kind, release: '1.0.0' }, '');
  // No other catalog has the same segment, which is not stored with the first one then.
  await registry.publish({ group: 'other.example.org', kind: 'Four', release: '1.0.0' }, '');
  await registry.waitForCatalogs();
  const { snapshotBuilder } = registry.parts;
  await snapshotBuilder.pause();
  const match = ', match: [{group: example.com}]';
  for (const name of ['first', 'second', 'third']) await apply(name, { match });
  meanwhile = () =>
    registry.send(
      'PUT',
      '/api/v1/catalogs/first',
      'apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata: {name: first}\nspec: {sources: [{name: some, functions: {}, match: [{kind: Two}]}]}\n',
    );
  snapshotBuilder.resume();
  await registry.waitForCatalogs();
  await check('first', 1);
  await check('second', 3);
  await check('third', 3);
});
