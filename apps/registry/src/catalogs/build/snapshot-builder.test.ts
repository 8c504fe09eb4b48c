import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';

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
  const cutting = registry.parts.snapshotBuilder.buildNow({ name: 'aaa' });
  held = undefined;
  release();
  await expect(cutting).rejects.toThrow('the cut is refused');
  failing = false;
  await registry.parts.snapshotBuilder.buildNow({ name: 'aaa' });
  expect((await registry.parts.store.snapshots('aaa', 1))[0]?.functions).toBe(1);
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

describe('the rest after a build', () => {
  const publish = (kind: string) => registry.publish({ kind, release: '1.0.0' }, '');
  const snapshots = async () =>
    (await registry.parts.store.snapshots('default', 10)).map(({ functions }) => functions);

  beforeEach(async () => {
    registry = await openTestRegistry();
    await registry.waitForCatalogs();
    // A rest ends when the test says so.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    await publish('First');
    while ((await snapshots()).length < 1) await new Promise((resolve) => setImmediate(resolve));
    // Publishes of a build share the next one, so that it rests now or after that.
    await publish('Second');
    while (vi.getTimerCount() === 0) await new Promise((resolve) => setImmediate(resolve));
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('lets publishes share a snapshot', async () => {
    const before = await snapshots();
    for (const kind of ['Third', 'Fourth', 'Fifth']) await publish(kind);
    expect(await snapshots()).toEqual(before);
    await vi.runOnlyPendingTimersAsync();
    vi.useRealTimers();
    await vi.waitFor(async () => expect(await snapshots()).toEqual([5, ...before]));
  });

  it('ends when a caller waits for a snapshot', async () => {
    const before = await snapshots();
    await publish('Third');
    expect(await snapshots()).toEqual(before);
    expect(
      await registry.parts.snapshotBuilder.waitFor({ event: await registry.parts.store.lastEvent() }),
    ).toBe(true);
    expect(await snapshots()).toEqual([3, ...before]);
  });

  it('ends when the builder stops', async () => {
    await registry.parts.snapshotBuilder.stop();
    expect(vi.getTimerCount()).toBe(0);
  });
});
