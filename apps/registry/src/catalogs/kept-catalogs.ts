import { setTimeout as sleep } from 'node:timers/promises';
import type { SnapshotRecord, SnapshotStore } from '@krmhub/catalog';
import type { Log } from '../log.js';
import type { CatalogDocuments } from './segments/catalog-documents.js';
import type { NewestSnapshots } from './serve/newest-snapshots.js';

/** Milliseconds after a change: several changes are read together. */
const DELAY_MS = 2_000;
/** Milliseconds after a failure, for example because the database is away. */
const RETRY_MS = 5_000;

interface Deps {
  store: Pick<SnapshotStore, 'catalogs'>;
  newestSnapshots: NewestSnapshots;
  documents: CatalogDocuments;
  /** Bytes to read at most, of all catalogs. */
  maxBytes: number;
  log: Log;
}

/**
 * Reads the newest snapshots of all catalogs into memory, as far as they fit, so that a process serves them while its
 * database is away, also those that no client has asked it for.
 */
export class KeptCatalogs {
  readonly #deps: Deps;
  readonly #stopped = new AbortController();
  #work: Promise<void> | undefined;
  #isDue = false;
  #missing: readonly string[] | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Returns the catalogs without a snapshot at the last read; undefined before the first one. */
  missing(): readonly string[] | undefined {
    return this.#missing;
  }

  /** Reads soon what changed. */
  wake(): void {
    this.#isDue = true;
    this.#work ??= this.#run(DELAY_MS).finally(() => {
      this.#work = undefined;
    });
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#work;
  }

  async #run(delay: number): Promise<void> {
    for (let wait = delay; this.#isDue; ) {
      const { signal } = this.#stopped;
      await sleep(wait, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
      this.#isDue = false;
      try {
        await this.read();
        wait = delay;
      } catch (error) {
        this.#deps.log.debug({ err: error }, 'cannot read the newest catalogs');
        this.#isDue = true;
        wait = RETRY_MS;
      }
    }
  }

  async read(): Promise<void> {
    const { store, newestSnapshots, maxBytes } = this.#deps;
    const missing: string[] = [];
    let left = maxBytes;
    for (const { name } of await store.catalogs()) {
      const snapshot = await newestSnapshots.get(name);
      if (snapshot === undefined) missing.push(name);
      const size = snapshot?.documents?.['catalog.yaml'].bytes;
      // Compressed, it is a fraction of this.
      if (snapshot === undefined || snapshot.withdrawn !== undefined || size === undefined || size * 2 > left)
        continue;
      left -= size * 2;
      await this.#readDocument(snapshot);
      if (this.#stopped.signal.aborted) return;
    }
    this.#missing = missing;
  }

  /** The document without a coding is also what others are made of. */
  async #readDocument(snapshot: SnapshotRecord): Promise<void> {
    for (const coding of ['identity', 'gzip'] as const) {
      const { body } = await this.#deps.documents.find(snapshot, 'catalog.yaml', coding);
      // Too large for the cache: it would be read for nothing.
      if (!(body instanceof Uint8Array)) return;
    }
  }
}
