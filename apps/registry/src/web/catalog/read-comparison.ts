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
import { BytesCache } from '../../http/bytes-cache.js';
import { SERVER_LIMITS } from '../../limits.js';
import { countChanges, type SnapshotChanges } from './cached-counts.js';

/** What changed between two snapshots of a catalog, as far as a page tells it. */
export interface SnapshotComparison {
  /** Of all that were looked at. */
  counts: SnapshotChanges;
  /** By function, the heaviest first. */
  changes: CatalogChange[];
  /** Functions that changed and are too large to be compared for a page. */
  tooLarge: FunctionName[];
  /** Functions that changed and that are only counted. */
  uncompared: number;
}

/** Compares snapshots for pages: no more than what changed is read, in turns, and what came of it is kept. */
export class SnapshotComparer {
  readonly #store: SnapshotStore;
  readonly #cache = new BytesCache<{ value: SnapshotComparison; byteLength: number }>(
    SERVER_LIMITS.maxComparisonCacheBytes,
  );

  constructor(store: SnapshotStore) {
    this.#store = store;
  }

  /** Neither may be withdrawn: what is left of its places says nothing of what stood there. */
  async compare(from: SnapshotRecord, to: SnapshotRecord): Promise<SnapshotComparison> {
    const name = `${from.catalog} ${from.serial} ${to.serial}`;
    const kept = this.#cache.get(name);
    if (kept !== undefined) return kept.value;
    const value = await this.#read(from, to);
    this.#cache.set(name, { value, byteLength: JSON.stringify(value).length * 4 });
    return value;
  }

  async #read(from: SnapshotRecord, to: SnapshotRecord): Promise<SnapshotComparison> {
    const isForward = from.serial <= to.serial;
    const serials = isForward ? { from: from.serial, to: to.serial } : { from: to.serial, to: from.serial };
    const read = await this.#store.changedEntries(from.catalog, serials, SERVER_LIMITS.maxComparedEntries);
    const places = isForward ? read.changed : read.changed.map(turned);
    const differing = places.filter(isDifferent);
    const counts = { ...countChanges(places), isAll: read.isAll };
    const result: SnapshotComparison = { counts, changes: [], tooLarge: [], uncompared: 0 };
    let bytes = 0;
    for (const [index, place] of differing.entries()) {
      if (index >= SERVER_LIMITS.maxComparedClosely || bytes >= SERVER_LIMITS.maxComparedBytes) {
        result.uncompared = differing.length - index;
        break;
      }
      const size = await this.#compareOne(place, result);
      bytes += size;
      // One function takes some milliseconds at most; others have their turn between two of them.
      await setImmediate();
    }
    return result;
  }

  /** Gives the bytes that were looked at. */
  async #compareOne(place: ChangedEntry, result: SnapshotComparison): Promise<number> {
    const { group, kind, before, after } = place;
    const digests = [before?.entry, after?.entry].filter((entry) => entry !== undefined);
    const entries = await this.#store.entries([...new Set(digests)]);
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
}

function turned({ group, kind, before, after }: ChangedEntry): ChangedEntry {
  return {
    group,
    kind,
    ...(after === undefined ? {} : { before: after }),
    ...(before === undefined ? {} : { after: before }),
  };
}

/** Another entry, or the same one of which another release, source or signer is told. */
function isDifferent({ before, after }: ChangedEntry): boolean {
  return (
    before?.entry !== after?.entry || JSON.stringify(before?.versions) !== JSON.stringify(after?.versions)
  );
}
