import { setImmediate } from 'node:timers/promises';
import {
  type CatalogChange,
  type CatalogEntryRow,
  type ChangedEntry,
  compareCatalogs,
  type SnapshotRecord,
  type SnapshotStore,
} from '@krmhub/catalog';
import type { FunctionDefinition, FunctionName, SnapshotEntry } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { BytesCache } from '../../http/bytes-cache.js';
import { rateLimitKey } from '../../http/client-address.js';
import { SERVER_LIMITS } from '../../limits.js';
import type { Derivation, Derive } from '../../workers/derive/derivation.js';
import { FairQueue } from '../../workers/locks/fair-queue.js';
import { shareWork } from '../../workers/locks/shared-work.js';
import { countChanges, type SnapshotChanges } from './cached-counts.js';

/** What changed between two snapshots of a catalog, up to the limits of a page. */
export interface SnapshotComparison {
  /** Counts of all compared entries. */
  counts: SnapshotChanges;
  /** Grouped by function, in descending impact. */
  changes: CatalogChange[];
  /** Changed functions that are too large to compare for a page. */
  tooLarge: FunctionName[];
  /** Changed functions that are only counted. */
  uncompared: number;
}

/** Compares snapshots for pages, and caches the results. */
export class SnapshotComparer {
  readonly #derive: Derive;
  readonly #cache = new BytesCache<{ value: SnapshotComparison; byteLength: number }>(
    SERVER_LIMITS.maxComparisonCacheBytes,
  );

  readonly #queue = new FairQueue({
    atOnce: 1,
    maxWaiting: SERVER_LIMITS.maxDerivationsWaiting,
  });
  /** By snapshots and client. */
  readonly #inProgress = new Map<string, Promise<SnapshotComparison>>();

  constructor(derive: Derive) {
    this.#derive = derive;
  }

  /**
   * Compares two snapshots for a client, by its address. Neither may be withdrawn, because its entries are incomplete.
   * Clients take turns; concurrent requests of one share the work.
   */
  async compare(from: SnapshotRecord, to: SnapshotRecord, client: string): Promise<SnapshotComparison> {
    const pair = `${from.catalog} ${from.serial} ${to.serial}`;
    const name = `${pair} ${rateLimitKey(client)}`;
    const known = this.#cache.get(pair)?.value;
    if (known !== undefined) return known;
    return shareWork(this.#inProgress, name, async () => {
      const value = await this.#queue.run(
        rateLimitKey(client),
        async () => this.#cache.get(pair)?.value ?? this.#derive(SNAPSHOT_COMPARISON, { from, to }),
      );
      this.#cache.set(pair, { value, byteLength: JSON.stringify(value).length * 4 });
      return value;
    });
  }
}

/** Reads only the changed entries. */
export const SNAPSHOT_COMPARISON: Derivation<
  { from: SnapshotRecord; to: SnapshotRecord },
  SnapshotComparison
> = {
  name: 'snapshot-comparison',
  async derive({ store }, { from, to }) {
    const isForward = from.serial <= to.serial;
    const serials = isForward ? { from: from.serial, to: to.serial } : { from: to.serial, to: from.serial };
    const read = await store.changedEntries(from.catalog, serials, SERVER_LIMITS.maxComparedEntries);
    const rows = isForward ? read.changed : read.changed.map(turned);
    const differing = rows.filter(isDifferent);
    const counts = { ...countChanges(rows), isAll: read.isAll };
    const result: SnapshotComparison = { counts, changes: [], tooLarge: [], uncompared: 0 };
    let bytes = 0;
    for (const [index, row] of differing.entries()) {
      if (index >= SERVER_LIMITS.maxComparedInDetail || bytes >= SERVER_LIMITS.maxComparedBytes) {
        result.uncompared = differing.length - index;
        break;
      }
      const size = await compareOne(store, row, result);
      bytes += size;
      // A function takes some milliseconds at most; other requests run between two of them.
      await setImmediate();
    }
    return result;
  },
};

/** Returns the number of compared bytes. */
async function compareOne(
  store: SnapshotStore,
  row: ChangedEntry,
  result: SnapshotComparison,
): Promise<number> {
  const { group, kind, before, after } = row;
  const digests = [before?.entry, after?.entry].filter((entry) => entry !== undefined);
  const entries = await store.entries([...new Set(digests)]);
  const size = [...entries.values()].reduce((sum, { json }) => sum + json.length, 0);
  if (size > SERVER_LIMITS.maxComparedEntryBytes) {
    result.tooLarge.push({ group, kind });
    return size;
  }
  const side = (at: CatalogEntryRow | undefined) => {
    const entry = at?.entry === undefined ? undefined : entries.get(at.entry);
    const functions = entry === undefined ? [] : [JSON.parse(entry.json) as FunctionDefinition];
    const provenance: SnapshotEntry[] = at === undefined ? [] : [{ group, kind, versions: at.versions }];
    return { functions, entries: provenance };
  };
  result.changes.push(...compareCatalogs(side(before), side(after)));
  return size;
}

function turned({ group, kind, before, after }: ChangedEntry): ChangedEntry {
  return {
    group,
    kind,
    ...defined({ before: after, after: before }),
  };
}

/** Reports whether the entry differs, or its release, source or signer. */
function isDifferent({ before, after }: ChangedEntry): boolean {
  return (
    before?.entry !== after?.entry || JSON.stringify(before?.versions) !== JSON.stringify(after?.versions)
  );
}
