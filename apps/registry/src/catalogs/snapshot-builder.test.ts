import { afterEach, expect, it } from 'vitest';
import { openTestRegistry, type TestRegistry } from '../testing/test-registry.js';

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
        if (cut.catalog === 'aaa' && failing) throw new Error('the cut is refused');
        if (cut.catalog === 'default' && held !== undefined) {
          reachedHold();
          await held;
        }
        await store.commitSnapshot(cut);
      },
    }),
  });
  const { secret } = await registry.token({});
  const recipe =
    'apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata: {name: aaa}\nspec: {sources: [{name: all, functions: {}}]}\n';
  const applied = await registry.request('/api/v1/catalogs/aaa', {
    method: 'PUT',
    body: recipe,
    headers: { 'Content-Type': 'application/yaml', Authorization: `Bearer ${secret}` },
  });
  expect(applied.status, await applied.text()).toBeLessThan(300);
  await registry.waitForCatalogs();

  failing = true;
  let release: () => void = () => undefined;
  held = new Promise((resolve) => {
    release = resolve;
  });
  await registry.publish({ kind: 'First', release: '1.0.0' }, '');
  await holding;
  const cutting = registry.parts.snapshotBuilder.buildNow('aaa');
  held = undefined;
  release();
  await expect(cutting).rejects.toThrow('the cut is refused');
  failing = false;
  await registry.parts.snapshotBuilder.buildNow('aaa');
  expect((await registry.parts.store.snapshots('aaa', 1))[0]?.functions).toBe(1);
});
