import type { CatalogRecord } from '@krmhub/catalog';
import { afterEach, expect, it } from 'vitest';
import { SERVER_LIMITS } from '../../limits.js';
import type { RegistryStore } from '../../store/registry-store.js';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';

let registry: TestRegistry;
let letGo: () => void = () => undefined;
afterEach(async () => {
  letGo();
  await registry.close();
});

/** Makes every build of the catalog `large` a large one. It waits before its commit until `letGo`. */
function holding(
  held: { reached: () => void },
  large: 'changes' | 'catalog',
): (store: RegistryStore) => RegistryStore {
  const going = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const { largeCatalogFunctions: functions } = SERVER_LIMITS;
  const enlarged = (one: CatalogRecord): CatalogRecord =>
    large === 'catalog' && one.name === 'large' && one.newest !== undefined
      ? { ...one, newest: { ...one.newest, functions } }
      : one;
  return (store) => ({
    ...store,
    catalogs: async () => (await store.catalogs()).map(enlarged),
    async catalog(name) {
      const found = await store.catalog(name);
      return found && enlarged(found);
    },
    async changedFunctions(after, through, catalog) {
      const names = await store.changedFunctions(after, through, catalog);
      if (large !== 'changes' || catalog !== 'large') return names;
      const name = (at: number) => ({ group: 'large.example.org', kind: `Fn${at}` });
      const tooMany = SERVER_LIMITS.maxSmallBuildFunctions + 1;
      return [...names, ...Array.from({ length: tooMany }, (_, at) => name(at))];
    },
    async commitSnapshot(build, ...rest) {
      if (build.catalog === 'large' && build.expectedThroughEvent > 0) {
        held.reached();
        await going;
      }
      await store.commitSnapshot(build, ...rest);
    },
  });
}

/** A promise, and what resolves it. */
function signal(): { promise: Promise<void>; resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((resolved) => {
    resolve = resolved;
  });
  return { promise, resolve };
}

async function applyLarge(): Promise<void> {
  const recipe = `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: large}
spec: {sources: [{name: some, functions: {}, match: [{group: large.example.org}]}]}
`;
  const applied = await registry.send('PUT', '/api/v1/catalogs/large', recipe);
  expect(applied.status, JSON.stringify(applied.body)).toBe(201);
}

it.each(['changes', 'catalog'] as const)(
  'builds other catalogs, and publishes, while a large one is being built (%s)',
  async (large) => {
    let reached: () => void = () => undefined;
    const isHeld = new Promise<void>((resolve) => {
      reached = resolve;
    });
    registry = await openTestRegistry({ wrapStore: holding({ reached: () => reached() }, large) });
    await applyLarge();
    await registry.waitForCatalogs();
    const { snapshotBuilder, store } = registry.parts;

    await registry.publish({ group: 'large.example.org', kind: 'First', release: '1.0.0' }, '');
    await isHeld;
    // The large build is waiting, and this publish reports the snapshot of the catalog that lists the function.
    const { status, body } = await registry.publish({ kind: 'Second', release: '1.0.0' });
    expect([status, body.catalogs.map(({ catalog }) => catalog)]).toEqual([201, ['default']]);
    expect((await store.snapshots('default', 1))[0]?.functions).toBe(2);
    await snapshotBuilder.buildNow({ name: 'default' });
    const event = await store.lastEvent();
    expect(await snapshotBuilder.waitFor({ event, milliseconds: 0, catalogs: ['default'] })).toBe(true);
    expect(await snapshotBuilder.waitFor({ event, milliseconds: 0 })).toBe(false);

    letGo();
    expect(await snapshotBuilder.waitFor({ event })).toBe(true);
  },
);

it('builds a large catalog again that changed meanwhile, if its build ends while catalogs are read', async () => {
  const [isHeld, isReading, going] = [signal(), signal(), signal()];
  let read: Promise<void> | undefined;
  let goOn: () => void = () => undefined;
  registry = await openTestRegistry({
    wrapStore(wrapped) {
      const store = holding({ reached: () => undefined }, 'changes')(wrapped);
      letGo = going.resolve;
      return {
        ...store,
        async commitSnapshot(build, ...rest) {
          await wrapped.commitSnapshot(build, ...rest);
          if (build.catalog !== 'large' || build.expectedThroughEvent === 0) return;
          isHeld.resolve();
          await going.promise;
        },
        async catalog(name) {
          const found = await store.catalog(name);
          if (name === 'default' && read !== undefined) {
            isReading.resolve();
            await read;
          }
          return found;
        },
      };
    },
  });
  await applyLarge();
  await registry.waitForCatalogs();
  const { snapshotBuilder, store } = registry.parts;
  await registry.publish({ group: 'large.example.org', kind: 'First', release: '1.0.0' }, '');
  const first = await store.lastEvent();
  await isHeld.promise;
  await registry.publish({ group: 'large.example.org', kind: 'Second', release: '1.0.0' }, '');
  // The second one ends after a pass that found the catalog being built.
  for (const kind of ['Third', 'Fourth']) await registry.publish({ kind, release: '1.0.0' });

  read = new Promise((resolve) => {
    goOn = resolve;
  });
  await registry.publish({ kind: 'Fifth', release: '1.0.0' }, '');
  await isReading.promise;
  letGo();
  expect(await snapshotBuilder.waitFor({ event: first, catalogs: ['large'] })).toBe(true);
  read = undefined;
  goOn();
  await registry.waitForCatalogs();
  expect((await store.snapshots('large', 1))[0]?.functions).toBe(2);
});

it('builds other catalogs while search is updated', async () => {
  const going = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  let updates = 0;
  registry = await openTestRegistry({
    wrapStore: (store) => ({
      ...store,
      async synchronizeSearch(signal) {
        updates += 1;
        if (updates > 1) await going;
        return store.synchronizeSearch(signal);
      },
    }),
  });
  await registry.waitForCatalogs();
  await registry.publish({ kind: 'First', release: '1.0.0' });
  const { body } = await registry.publish({ kind: 'Second', release: '1.0.0' });
  expect(updates).toBe(2);
  expect(body.catalogs.map(({ catalog }) => catalog)).toEqual(['default']);
});
