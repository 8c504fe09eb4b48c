import {
  type CatalogRecord,
  type ChangedEntry,
  REPORT_REMARKS,
  type ReportRemark,
  type SnapshotStore,
} from '@krmhub/catalog';
import { LRUCache } from 'lru-cache';
import { type KnownAccess, sightKey } from '../../http/auth/request-actor.js';
import { SERVER_LIMITS } from '../../limits.js';

/** Counts on the page of a catalog. A function counts once, whatever the number of its API versions. */
export interface CatalogCounts {
  /** Functions in the catalog, by the source of their first API version. */
  sources: ReadonlyMap<string, number>;
  /** Functions with a remark in the report. */
  remarks: Record<ReportRemark, number>;
}

/** Numbers of changes between a snapshot and the one before it. */
export interface SnapshotChanges {
  added: number;
  removed: number;
  changed: number;
  /** False if there are more changes than were counted. */
  isAll: boolean;
}

/** Caches counts that need a walk through a catalog, until the catalog changes. */
export class CachedCounts {
  readonly #store: SnapshotStore;
  readonly #access: KnownAccess;
  readonly #cache = new LRUCache<string, Promise<unknown>>({ max: SERVER_LIMITS.maxCachedCounts });

  constructor(store: SnapshotStore, access: KnownAccess) {
    this.#store = store;
    this.#access = access;
  }

  /** Counts what the reader sees of the newest state, including changes that are not in a snapshot yet. */
  catalogCounts(catalog: CatalogRecord): Promise<CatalogCounts> {
    const { name, newest, throughEvent } = catalog;
    const serial = reportSerial(catalog);
    const state = `catalog ${name} ${serial} ${throughEvent} ${newest?.withdrawn?.at ?? ''} ${sightKey(this.#access)}`;
    return this.#cached(state, async () => {
      const held = { catalog: name, serial: newest?.serial ?? 0, of: 'held' } as const;
      // Each count follows the rules and the actor of when it begins, which must be those of the key.
      const [sources, ...counted] = await Promise.all([
        this.#store.countEntries(held),
        ...REPORT_REMARKS.map((of) => this.#store.countEntries({ catalog: name, serial, of })),
      ]);
      const remarks = { refused: 0, shadowed: 0, yanked: 0 };
      for (const [at, remark] of REPORT_REMARKS.entries()) remarks[remark] = counted[at]?.get('') ?? 0;
      return { sources, remarks };
    });
  }

  /** Counts the changes of a snapshot against the one before it. The caller checks that neither was withdrawn. */
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
    // After a failure, the next request counts again.
    value.catch(() => this.#cache.delete(name));
    return value;
  }
}

/** Returns the serial of the newest state of a catalog, also if that state has no snapshot. */
export function reportSerial({ newest }: CatalogRecord): number {
  return (newest?.serial ?? 0) + 1;
}

/** Counts functions whose entry was added, removed or replaced. A change of the report alone does not count. */
export function countChanges(rows: readonly ChangedEntry[]): Omit<SnapshotChanges, 'isAll'> {
  const counts = { added: 0, removed: 0, changed: 0 };
  for (const { before, after } of rows) {
    const [was, is] = [before?.entry, after?.entry];
    if (was === is) continue;
    if (was === undefined) counts.added += 1;
    else if (is === undefined) counts.removed += 1;
    else counts.changed += 1;
  }
  return counts;
}

/** Returns a text such as `3 added, 1 changed`; for an incomplete count, "more than" and the number. */
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
