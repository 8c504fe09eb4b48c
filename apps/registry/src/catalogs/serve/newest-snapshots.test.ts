import type { CatalogRecord, SnapshotRecord } from '@krmhub/catalog';
import { expect, it } from 'vitest';
import { NewestSnapshots } from './newest-snapshots.js';

it('forgets a snapshot that is withdrawn while its row is read', async () => {
  const newest = { catalog: 'one', serial: 1, documents: {} } as unknown as SnapshotRecord;
  let answer: (catalog: CatalogRecord) => void = () => undefined;
  const snapshots = new NewestSnapshots({
    catalog: () =>
      new Promise((resolve) => {
        answer = resolve;
      }),
    catalogs: async () => [],
  });
  const reload = async (meanwhile: () => void) => {
    const reloaded = snapshots.reload('one', 1);
    meanwhile();
    answer({ name: 'one', newest } as CatalogRecord);
    await reloaded;
    return snapshots.known('one');
  };
  expect(await reload(() => snapshots.clear())).toBeUndefined();
  expect(await reload(() => undefined)).toBe(newest);
});
