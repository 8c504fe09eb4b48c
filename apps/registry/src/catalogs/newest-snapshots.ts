import type { SnapshotRecord, SnapshotStore } from '@krmhub/catalog';

/** The newest snapshot of each catalog in memory. The snapshot builder updates it. */
export class NewestSnapshots {
  readonly #store: Pick<SnapshotStore, 'catalog'>;
  readonly #newest = new Map<string, SnapshotRecord>();
  /** Counts changes of the map: a row that was read before a change may be outdated. */
  #changes = 0;

  constructor(store: Pick<SnapshotStore, 'catalog'>) {
    this.#store = store;
  }

  /** Returns the cached snapshot; undefined if the catalog was not read yet or has none. */
  known(catalog: string): SnapshotRecord | undefined {
    return this.#newest.get(catalog);
  }

  /** Returns undefined for an unknown catalog and before the first build. */
  async get(catalog: string): Promise<SnapshotRecord | undefined> {
    const known = this.#newest.get(catalog);
    if (known !== undefined) return known;
    const changes = this.#changes;
    const newest = (await this.#store.catalog(catalog))?.newest;
    // A withdrawn snapshot is not cached: a build replaces it in a moment.
    const isCurrent = newest !== undefined && newest.withdrawn === undefined;
    if (isCurrent && this.#changes === changes) this.#newest.set(catalog, newest);
    return newest;
  }

  /** Call it with every committed snapshot. */
  put(snapshot: SnapshotRecord): void {
    this.#changes += 1;
    this.#newest.set(snapshot.catalog, snapshot);
  }

  /** Call it after any other change of snapshots. */
  clear(): void {
    this.#changes += 1;
    this.#newest.clear();
  }
}
