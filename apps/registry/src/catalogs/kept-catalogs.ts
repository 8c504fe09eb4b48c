import { setTimeout as sleep } from 'node:timers/promises';
import type { SnapshotRecord } from '@krmhub/catalog';
import type { Log } from '../log.js';
import type { CatalogDocuments } from './segments/catalog-documents.js';
import type { NewestSnapshots } from './serve/newest-snapshots.js';

/** Milliseconds after a change: several changes are read together. */
const DELAY_MS = 2_000;
/** Milliseconds after a failure, for example because the database is away. */
const RETRY_MS = 5_000;

interface Deps {
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
  #missing: readonly string[] = [];

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Returns the catalogs that still have no snapshot, of those that were stored at the start or a later read. */
  missing(): readonly string[] {
    const { newestSnapshots } = this.#deps;
    this.#missing = this.#missing.filter((name) => newestSnapshots.known(name) === undefined);
    return this.#missing;
  }

  /** Finds out which catalogs have a snapshot, and reads their documents soon: a start does not wait for these. */
  async start(): Promise<void> {
    await this.#snapshots();
    this.wake();
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
    let left = this.#deps.maxBytes;
    for (const { newest: snapshot } of await this.#snapshots()) {
      const size = snapshot?.documents?.['catalog.yaml'].bytes;
      // Compressed, it is a fraction of this.
      if (snapshot === undefined || snapshot.withdrawn !== undefined || size === undefined || size * 2 > left)
        continue;
      left -= size * 2;
      await this.#readDocument(snapshot);
      if (this.#stopped.signal.aborted) return;
    }
  }

  async #snapshots(): ReturnType<NewestSnapshots['getAll']> {
    const catalogs = await this.#deps.newestSnapshots.getAll();
    this.#missing = catalogs.filter(({ newest }) => newest === undefined).map(({ name }) => name);
    return catalogs;
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
