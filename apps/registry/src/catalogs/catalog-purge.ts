import { setImmediate } from 'node:timers/promises';
import type { SnapshotStore } from '@krmhub/catalog';
import { SERVER_LIMITS } from '../limits.js';
import type { Log } from '../log.js';
import type { BytesLock } from '../workers/processes/processes.js';
import { RepeatedWork } from '../workers/processes/repeated-work.js';
import type { ProfileDocuments } from './profiles/profile-documents.js';
import type { CatalogDocuments } from './segments/catalog-documents.js';

export interface CatalogPurgeDeps {
  bytesLock: BytesLock;
  store: SnapshotStore;
  documents: CatalogDocuments;
  profileDocuments: ProfileDocuments;
  clock: () => Date;
  log: Log;
}

/**
 * Deletes the data of deleted catalogs after the period in which they can be restored: first the mark that ends the
 * period, then profiles, then rows. Only the tombstone stays, so that its name stays reserved. The work can stop at
 * any point; the next run, also after a restart, continues. Files that only the repository of the catalog named are
 * left to the `Collector`, and copies of sources to the `CopySweep`.
 */
export class CatalogPurge extends RepeatedWork {
  readonly #deps: CatalogPurgeDeps;

  constructor(deps: CatalogPurgeDeps) {
    const { log } = deps;
    const failed = 'cannot purge deleted catalogs';
    super({ pause: SERVER_LIMITS.purgeEveryMilliseconds, isFirstNow: true, log, failed });
    this.#deps = deps;
  }

  /** Returns the names of the catalogs without any data left. */
  override async run(): Promise<string[]> {
    const { store, documents, profileDocuments, clock, log } = this.#deps;
    const at = clock().toISOString();
    const marked: string[] = [];
    for (const name of await store.catalogsToPurge(at)) {
      if (await store.startPurge(name, at)) marked.push(name);
    }
    const purged: string[] = [];
    if (marked.length > 0) {
      documents.clear();
      await this.#deps.bytesLock.exclusively(() => profileDocuments.deleteUnused());
    }
    for (const catalog of marked) {
      if (!(await this.#untilFalse(() => store.purgeRows(catalog, at)))) break;
      purged.push(catalog);
      log.info({ catalog }, 'deleted the data of a deleted catalog');
    }
    await this.#untilFalse(() => store.collectEntries(at));
    return purged;
  }

  /** Repeats a transaction, so that others can write between two. Returns false if it was stopped before the end. */
  async #untilFalse(work: () => Promise<boolean>): Promise<boolean> {
    while (!this.isStopped) {
      if (!(await work())) return true;
      await setImmediate();
    }
    return false;
  }
}
