import type { SnapshotRecord, SnapshotStore } from '@krmhub/catalog';

/** The newest snapshot of each catalog in memory, kept right by whoever cuts. */
export class NewestSnapshots {
  readonly #store: Pick<SnapshotStore, 'catalog'>;
  readonly #newest = new Map<string, SnapshotRecord>();
  /** Counts what was put or forgotten: what was read before that may be old. */
  #changes = 0;

  constructor(store: Pick<SnapshotStore, 'catalog'>) {
    this.#store = store;
  }

  /** Undefined where the catalog was not asked for yet, or has none. */
  known(catalog: string): SnapshotRecord | undefined {
    return this.#newest.get(catalog);
  }

  /** Undefined where there is no such catalog, or it was not cut yet. */
  async get(catalog: string): Promise<SnapshotRecord | undefined> {
    const known = this.#newest.get(catalog);
    if (known !== undefined) return known;
    const changes = this.#changes;
    const newest = (await this.#store.catalog(catalog))?.newest;
    // One that is withdrawn is not to be answered from, and gives way in a moment.
    const stands = newest !== undefined && newest.withdrawn === undefined;
    if (stands && this.#changes === changes) this.#newest.set(catalog, newest);
    return newest;
  }

  /** To be called with every snapshot that was committed. */
  put(snapshot: SnapshotRecord): void {
    this.#changes += 1;
    this.#newest.set(snapshot.catalog, snapshot);
  }

  /** To be called when snapshots were changed otherwise. */
  clear(): void {
    this.#changes += 1;
    this.#newest.clear();
  }
}
