import type { SearchSynchronizer } from '@krmhub/catalog';
import type { ErrorLog } from '../../log.js';
import type { Failures } from './failures.js';
import type { Pauses } from './pauses.js';

export interface SearchUpdatesDeps {
  store: SearchSynchronizer;
  log: ErrorLog;
  failures: Failures;
  pauses: Pauses;
  /** Called with what all catalogs included before the update. */
  updated(event: number): void;
  failed(): void;
  /** Starts the next pass. */
  wake(): void;
}

/** Updates search in the background after builds. */
export class SearchUpdates {
  readonly #deps: SearchUpdatesDeps;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  /** What all catalogs include, once search is updated. */
  #due: number | undefined;

  constructor(deps: SearchUpdatesDeps) {
    this.#deps = deps;
  }

  /** Resolves once search has the snapshots of now. All catalogs include `event`. */
  async soon(event: number): Promise<void> {
    this.#due = Math.max(this.#due ?? event, event);
    // A running update may have passed over a snapshot.
    await this.#running;
    this.#running ??= this.#synchronize().finally(() => {
      this.#running = undefined;
    });
    await this.#running;
  }

  /** Interrupts an update. */
  stop(): void {
    this.#stop.abort();
  }

  async ended(): Promise<void> {
    await this.#running;
  }

  async #synchronize(): Promise<void> {
    const { store, log, failures, pauses, updated, failed, wake } = this.#deps;
    const stopping = this.#stop.signal;
    const once = (pausing: AbortSignal) => store.synchronizeSearch(AbortSignal.any([stopping, pausing]));
    try {
      while (this.#due !== undefined && !stopping.aborted) {
        const due = this.#due;
        this.#due = undefined;
        // A pause interrupts it; it continues afterwards.
        while (!stopping.aborted && !(await pauses.between(once)));
        failures.ofSearch = undefined;
        if (!stopping.aborted) updated(due);
      }
    } catch (error) {
      if (stopping.aborted) return;
      const failure = failures.next(failures.ofSearch, error);
      failures.ofSearch = failure;
      log.error({ err: error }, 'cannot update search');
      failed();
      setTimeout(wake, failures.delay(failure)).unref();
    }
  }
}
