import type { CatalogRecord, CatalogRecordReader, SnapshotRecord } from '@krmhub/catalog';
import type { Pauses } from './pauses.js';

interface Deps {
  store: CatalogRecordReader;
  pauses: Pauses;
  onSnapshot(snapshot: SnapshotRecord): void;
}

/** Announces newest snapshots that are stored: the process that built one may have ended before it announced it. */
export class AnnouncedSnapshots {
  readonly #deps: Deps;
  /** Catalogs whose newest snapshot was announced since the start. */
  readonly #names = new Set<string>();
  #pausesBefore = 0;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Call it before catalogs are read. */
  beforeRead(): void {
    this.#pausesBefore = this.#deps.pauses.count;
  }

  /** Announces the newest snapshot of a catalog, unless it was withdrawn, or this was called for the catalog before. */
  async announceOnce({ name, newest }: CatalogRecord): Promise<void> {
    if (this.#names.has(name)) return;
    this.#names.add(name);
    if (newest !== undefined) await this.#announce(name, newest);
  }

  async #announce(name: string, read: SnapshotRecord): Promise<void> {
    const { store, pauses } = this.#deps;
    const announce = (newest: SnapshotRecord) => {
      if (newest.withdrawn === undefined) this.#deps.onSnapshot(newest);
    };
    if (pauses.count === this.#pausesBefore) return announce(read);
    // A deletion pauses builds: the catalog is not announced after it.
    await pauses.between(async () => {
      const newest = (await store.catalog(name))?.newest;
      if (newest !== undefined) announce(newest);
    });
  }
}
