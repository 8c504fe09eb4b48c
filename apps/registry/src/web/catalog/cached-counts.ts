import {
  type CatalogRecord,
  type ChangedEntry,
  REPORT_REMARKS,
  type ReportRemark,
  type SnapshotStore,
} from '@krmhub/catalog';
import { LRUCache } from 'lru-cache';
import { SERVER_LIMITS } from '../../limits.js';

/** What a page says of a catalog in numbers: functions, whatever the number of their API versions. */
export interface CatalogCounts {
  /** Functions that the catalog holds, by the source of their first API version. */
  sources: ReadonlyMap<string, number>;
  /** Functions of which the report has something to say. */
  remarks: Record<ReportRemark, number>;
}

/** What a snapshot changed in the one before it. */
export interface SnapshotChanges {
  added: number;
  removed: number;
  changed: number;
  /** False where there are more than were counted. */
  isAll: boolean;
}

/** Numbers that cost a walk through a catalog, and are the same until it is cut again. */
export class CachedCounts {
  readonly #store: SnapshotStore;
  readonly #cache = new LRUCache<string, Promise<unknown>>({ max: SERVER_LIMITS.maxKeptCounts });

  constructor(store: SnapshotStore) {
    this.#store = store;
  }

  /** Of the newest state, with what waits for the next snapshot. */
  catalogCounts(catalog: CatalogRecord): Promise<CatalogCounts> {
    const { name, newest, throughEvent } = catalog;
    const serial = reportSerial(catalog);
    const state = `catalog ${name} ${serial} ${throughEvent} ${newest?.withdrawn?.at ?? ''}`;
    return this.#cached(state, async () => {
      const count = async (of: ReportRemark) =>
        (await this.#store.countEntries({ catalog: name, serial, of })).get('') ?? 0;
      const remarks = { refused: 0, shadowed: 0, yanked: 0 };
      for (const remark of REPORT_REMARKS) remarks[remark] = await count(remark);
      const held = { catalog: name, serial: newest?.serial ?? 0, of: 'held' } as const;
      return { sources: await this.#store.countEntries(held), remarks };
    });
  }

  /** What a snapshot changed in the one before it; of two that were not withdrawn when it was counted. */
  snapshotChanges(catalog: string, serial: number): Promise<SnapshotChanges> {
    return this.#cached(`snapshot ${catalog} ${serial}`, async () => {
      const serials = { from: serial - 1, to: serial };
      const { changed, isAll } = await this.#store.changedEntries(
        catalog,
        serials,
        SERVER_LIMITS.maxCountedChanges,
      );
      return { ...countChanges(changed), isAll };
    });
  }

  #cached<Value>(name: string, make: () => Promise<Value>): Promise<Value> {
    const cached = this.#cache.get(name) as Promise<Value> | undefined;
    if (cached !== undefined) return cached;
    const value = make();
    this.#cache.set(name, value);
    // The next request counts again after a failure.
    value.catch(() => this.#cache.delete(name));
    return value;
  }
}

/** The serial as of which a catalog is as it was cut last, also where that made no snapshot. */
export function reportSerial({ newest }: CatalogRecord): number {
  return (newest?.serial ?? 0) + 1;
}

/** Functions whose entry came, went or became another one; where only the report changed, nothing did. */
export function countChanges(places: readonly ChangedEntry[]): Omit<SnapshotChanges, 'isAll'> {
  const counts = { added: 0, removed: 0, changed: 0 };
  for (const { before, after } of places) {
    const [was, is] = [before?.entry, after?.entry];
    if (was === is) continue;
    if (was === undefined) counts.added += 1;
    else if (is === undefined) counts.removed += 1;
    else counts.changed += 1;
  }
  return counts;
}

/** `3 added, 1 changed`; of what was not counted to its end, more than how many there are. */
export function changesText(
  { added, removed, changed, isAll }: SnapshotChanges,
  limit: number = SERVER_LIMITS.maxCountedChanges,
): string {
  const parts = [
    [added, 'added'],
    [removed, 'removed'],
    [changed, 'changed'],
  ].flatMap(([count, word]) => (count === 0 ? [] : [`${count} ${word}`]));
  if (!isAll) return `more than ${limit.toLocaleString('en')} functions`;
  return parts.length === 0 ? 'only labels or the report' : parts.join(', ');
}
