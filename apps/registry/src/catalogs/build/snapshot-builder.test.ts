import { afterEach, expect, it } from 'vitest';
import { REGISTRY } from '../../http/auth/caller.js';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';
import { deleteCatalog } from '../delete-catalog.js';
import { DocumentHasher } from '../segments/document-hasher.js';
import { SnapshotBuilder } from './snapshot-builder.js';

let registry: TestRegistry;
afterEach(() => registry.close());

it('reports a failed build, also if the current pass has already visited the catalog', async () => {
  let failing = false;
  let held: Promise<void> | undefined;
  let reachedHold: () => void = () => undefined;
  const holding = new Promise<void>((resolve) => {
    reachedHold = resolve;
  });
  registry = await openTestRegistry({
    wrapStore: (store) => ({
      ...store,
      async commitSnapshot(cut) {
        if (cut.catalog === 'default' && failing) throw new Error('the cut is refused');
        // Others are built after `default`.
        if (cut.catalog === 'aaa' && held !== undefined) {
          reachedHold();
          await held;
        }
        await store.commitSnapshot(cut);
      },
    }),
  });
  const recipe =
    'apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata: {name: aaa}\nspec: {sources: [{name: all, functions: {}}]}\n';
  const applied = await registry.send('PUT', '/api/v1/catalogs/aaa', recipe);
  expect(applied.status, JSON.stringify(applied.body)).toBeLessThan(300);
  await registry.waitForCatalogs();

  failing = true;
  let release: () => void = () => undefined;
  held = new Promise((resolve) => {
    release = resolve;
  });
  await registry.publish({ kind: 'First', release: '1.0.0' }, '');
  await holding;
  const cutting = registry.parts.snapshotBuilder.buildNow({ name: 'default' });
  held = undefined;
  release();
  await expect(cutting).rejects.toThrow('the cut is refused');
  failing = false;
  await registry.parts.snapshotBuilder.buildNow({ name: 'default' });
  expect((await registry.parts.store.snapshots('default', 1))[0]?.functions).toBe(1);
});

it('does not build a catalog again because snapshots are events', async () => {
  const committed: string[] = [];
  registry = await openTestRegistry({
    wrapStore: (store) => ({
      ...store,
      async commitSnapshot(cut, ...artifacts) {
        await store.commitSnapshot(cut, ...artifacts);
        committed.push(cut.event?.type ?? 'unchanged');
      },
    }),
  });
  await registry.publish({ kind: 'First', release: '1.0.0' });
  committed.length = 0;
  await registry.waitForCatalogs();
  expect(committed).toEqual([]);
  await registry.publish({ kind: 'Second', release: '1.0.0' });
  expect(committed).toEqual(['catalog.cut']);
});

it('announces no catalog that is deleted while the first pass reads it', async () => {
  const before = await openTestRegistry();
  const recipe =
    'apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata: {name: aaa}\nspec: {sources: [{name: all, functions: {}}]}\n';
  await before.send('PUT', '/api/v1/catalogs/aaa', recipe);
  await before.parts.snapshotBuilder.buildNow({ name: 'aaa' });
  await before.parts.close();
  registry = await openTestRegistry({ folder: before.folder, start: false });
  const { store, keys, clock, log, metrics, newestSnapshots, processes } = registry.parts;
  let isDeleted = false;
  const builder: SnapshotBuilder = new SnapshotBuilder({
    store: {
      ...store,
      async catalog(name) {
        const found = await store.catalog(name);
        if (name !== 'aaa' || isDeleted) return found;
        isDeleted = true;
        await deleteCatalog(registry.parts, name, { ...REGISTRY, reason: 'as a test' });
        builder.wake();
        return found;
      },
    },
    hasher: new DocumentHasher(store),
    signing: { keys, clock, validDays: 30 },
    ...{ clock, log, metrics },
    onSnapshot: (snapshot) => newestSnapshots.put(snapshot),
  });
  processes.pauses(builder);
  builder.start();
  await builder.waitFor({ event: (await store.lastEvent()) + 1, milliseconds: 60_000 });
  await builder.stop();
  expect(isDeleted).toBe(true);
  expect(newestSnapshots.known('aaa')).toBeUndefined();
  expect(newestSnapshots.known('default')).toBeDefined();
  expect((await registry.request('/catalogs/aaa/catalog.yaml')).status).toBe(410);
});

it('includes the publishes of a build together in the next one', async () => {
  registry = await openTestRegistry();
  await registry.waitForCatalogs();
  const { snapshotBuilder, store } = registry.parts;
  const before = (await store.snapshots('default', 1))[0]!.serial;
  await snapshotBuilder.pause();
  for (let at = 0; at < 8; at++) await registry.publish({ kind: `Fn${at}`, release: '1.0.0' }, '');
  snapshotBuilder.resume();
  await registry.waitForCatalogs();
  const [newest] = await store.snapshots('default', 1);
  expect(newest!.functions).toBe(8);
  expect(newest!.serial - before).toBeLessThanOrEqual(2);
});
