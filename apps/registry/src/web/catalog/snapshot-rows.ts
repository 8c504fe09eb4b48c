import type { CatalogReader, CatalogRecord, SnapshotRecord } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import type { CachedCounts } from './cached-counts.js';
import type { SnapshotPage, SnapshotRow } from './snapshots-section.js';

const SNAPSHOTS_OF_PAGE = 25;

/** Reads snapshots with their changes. */
export function snapshotRows(store: CatalogReader, counts: CachedCounts) {
  /** Serials have no gaps, so a page needs only its own snapshots. */
  async function pageBefore({ name, newest }: CatalogRecord, before?: number): Promise<SnapshotPage> {
    const isLater = before !== undefined;
    const first = Math.min(newest?.serial ?? 0, (before ?? Number.MAX_SAFE_INTEGER) - 1);
    const snapshots: SnapshotRecord[] = [];
    for (let serial = first; serial > 0 && snapshots.length <= SNAPSHOTS_OF_PAGE; serial -= 1) {
      const snapshot = await store.snapshot(name, serial);
      if (snapshot !== undefined) snapshots.push(snapshot);
    }
    const rows = await buildRows(snapshots, SNAPSHOTS_OF_PAGE);
    const last = rows.at(-1)?.snapshot.serial ?? 1;
    return { rows, isLater, ...defined({ next: last > 1 ? last : undefined }) };
  }

  /**
   * Returns the first `count` snapshots, newest first, with the changes of each. The last snapshot may only serve as
   * the predecessor of the one before.
   */
  async function buildRows(snapshots: readonly SnapshotRecord[], count: number): Promise<SnapshotRow[]> {
    const rows: SnapshotRow[] = [];
    for (const [index, snapshot] of snapshots.slice(0, count).entries()) {
      const before = snapshots[index + 1];
      const stand =
        snapshot.withdrawn === undefined && before !== undefined && before.withdrawn === undefined;
      const changes = stand ? await counts.snapshotChanges(snapshot.catalog, snapshot.serial) : undefined;
      rows.push({ snapshot, ...defined({ changes }) });
    }
    return rows;
  }

  return { pageBefore, buildRows };
}
