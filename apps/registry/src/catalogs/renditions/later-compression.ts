import { setTimeout as sleep } from 'node:timers/promises';
import type { SnapshotRecord } from '@krmhub/catalog';
import type { RwLock } from '../../isolation/rw-lock.js';
import { SERVER_LIMITS } from '../../limits.js';
import type { Log } from '../../log.js';
import type { SnapshotRenditions } from './snapshot-renditions.js';

interface CompressionDeps {
  renditions: Pick<SnapshotRenditions, 'compress'>;
  log: Log;
  clock: () => Date;
  lock: RwLock;
  stopping: AbortSignal;
  /** Returns the signal of the next pause. */
  pausing: () => AbortSignal;
}

/**
 * Compresses large renditions; until then, clients get them uncompressed. It waits until the catalog is quiet: the next
 * build would make the work useless, and needs the processor.
 */
export class LaterCompression {
  readonly #deps: CompressionDeps;
  /** Newest snapshots by catalog; times in milliseconds since the epoch. */
  readonly #waiting = new Map<string, { snapshot: SnapshotRecord; first: number; last: number }>();
  #running: Promise<void> | undefined;

  constructor(deps: CompressionDeps) {
    this.#deps = deps;
  }

  add(snapshot: SnapshotRecord): void {
    const now = this.#now();
    const first = this.#waiting.get(snapshot.catalog)?.first ?? now;
    this.#waiting.set(snapshot.catalog, { snapshot, first, last: now });
    this.#running ??= this.#run();
  }

  /** Resolves when no compression runs. */
  async done(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    const { renditions, log, lock, stopping, pausing } = this.#deps;
    try {
      for (const catalog of this.#waiting.keys()) {
        for (;;) {
          const { first, last } = this.#waiting.get(catalog)!;
          const due = Math.min(
            last + SERVER_LIMITS.compressAfterMilliseconds,
            first + SERVER_LIMITS.compressWithinMilliseconds,
          );
          const wait = due - this.#now();
          if (wait <= 0) break;
          await sleep(wait, undefined, { signal: stopping });
        }
        const due = this.#waiting.get(catalog)!;
        this.#waiting.delete(catalog);
        try {
          await lock.read(() => renditions.compress(due.snapshot, AbortSignal.any([stopping, pausing()])));
        } catch (error) {
          if (!stopping.aborted && (error as Error).name === 'AbortError') {
            // A pause interrupted it. A newer snapshot takes precedence.
            if (!this.#waiting.has(catalog)) this.#waiting.set(catalog, due);
            continue;
          }
          // The catalog is served without it. Its next snapshot or the next start tries again.
          if (!stopping.aborted) log.warn({ err: error, catalog }, 'cannot compress a catalog');
        }
      }
    } catch (error) {
      if (!stopping.aborted) log.error({ err: error }, 'cannot compress catalogs');
    } finally {
      this.#running = undefined;
    }
  }

  #now(): number {
    return this.#deps.clock().getTime();
  }
}
