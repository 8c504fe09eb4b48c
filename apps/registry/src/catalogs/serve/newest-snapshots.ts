import type { CatalogHead, CatalogRecordReader, SnapshotRecord } from '@krmhub/catalog';

/** The newest snapshot of each catalog in memory. The snapshot builder and events of other processes update it. */
export class NewestSnapshots {
  readonly #store: CatalogRecordReader;
  readonly #newest = new Map<string, SnapshotRecord>();
  /** Counts changes of the map: a row that was read before a change may be outdated. */
  #changes = 0;

  constructor(store: CatalogRecordReader) {
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
    const isCurrent = newest !== undefined && isServedForLong(newest);
    if (isCurrent && this.#changes === changes) this.#newest.set(catalog, newest);
    return newest;
  }

  /** Reads those of all catalogs that are not known yet, with one statement. */
  async getAll(): Promise<CatalogHead[]> {
    const changes = this.#changes;
    const catalogs = await this.#store.catalogs();
    return catalogs.map(({ name, newest }) => {
      const known = this.#newest.get(name);
      if (known !== undefined) return { name, newest: known };
      if (newest === undefined) return { name };
      if (isServedForLong(newest) && this.#changes === changes) this.#newest.set(name, newest);
      return { name, newest };
    });
  }

  /** Call it with every committed snapshot. Those that are older than a known one are ignored. */
  put(snapshot: SnapshotRecord): void {
    if ((this.#newest.get(snapshot.catalog)?.serial ?? 0) > snapshot.serial) return;
    this.#changes += 1;
    this.#newest.set(snapshot.catalog, snapshot);
  }

  /** Call it after another process has committed this snapshot. */
  async reload(catalog: string, serial: number): Promise<void> {
    if ((this.#newest.get(catalog)?.serial ?? 0) >= serial) return;
    const changes = this.#changes;
    const newest = (await this.#store.catalog(catalog))?.newest;
    // A takedown can have withdrawn it meanwhile.
    if (newest !== undefined && isServedForLong(newest) && this.#changes === changes) this.put(newest);
    else this.clear();
  }

  /** Reads the newest snapshot again. Reports whether it is a later one than this. */
  async refresh(catalog: string, than: SnapshotRecord): Promise<boolean> {
    await this.reload(catalog, than.serial + 1);
    return ((await this.get(catalog))?.serial ?? 0) > than.serial;
  }

  /** Call it after any other change of snapshots. */
  clear(): void {
    this.#changes += 1;
    this.#newest.clear();
  }
}

/** A build soon replaces a withdrawn snapshot, and gives one of an older version its segments. */
function isServedForLong({ withdrawn, documents }: SnapshotRecord): boolean {
  return withdrawn === undefined && documents !== undefined;
}
