import type { Metrics } from '../metrics.js';
/**
 * Building snapshots. The event log is the work list: a catalog records the last event that it includes.
 *
 * - A build selects entries from release summaries, only for functions that later events touched; a policy also reads
 *   their definitions. A new recipe selects every function again. Releases that arrive during a build share the next
 *   one.
 * - It writes all entries piece by piece into the renditions: YAML and JSON, under both kinds of the KEP. An entry is
 *   in memory only while it is written, so a catalog can have any size.
 * - If there is an earlier snapshot, its renditions are copied in long runs where nothing changed
 *   (renditions/patch.ts).
 * - Small renditions are compressed before the snapshot is served, large ones once the catalog is quiet; until then
 *   clients get them uncompressed. For large catalogs, the renditions under the second kind are also made then, or on
 *   request.
 * - A catalog entry is a row with the serials where it begins and ends, so a snapshot costs what changed, not what it
 *   contains. One transaction commits entries, snapshot, and signature.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { SearchStore, SnapshotRecord } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { EventHighWaterMark } from '../isolation/event-high-water-mark.js';
import { RwLock } from '../isolation/rw-lock.js';
import { SERVER_LIMITS } from '../limits.js';
import type { Log } from '../log.js';
import { type BuildSnapshotDeps, buildSnapshot } from './build-snapshot.js';
import type { BuilderStatus, CatalogBuilder } from './catalog-builder.js';

interface Failure {
  error: unknown;
  attempts: number;
  /** Milliseconds since the epoch. */
  retryAt: number;
}

export interface SnapshotBuilderDeps extends BuildSnapshotDeps {
  store: BuildSnapshotDeps['store'] & SearchStore;
  log: Log;
  metrics: Pick<Metrics, 'build' | 'catalogFunctions'>;
  /** Called with each new snapshot before `waitFor` resolves. */
  onSnapshot(snapshot: SnapshotRecord): void;
  /** Called after each pass over all catalogs, with the event that all of them include. */
  onPass?(reached: number, status: BuilderStatus): void;
}

/**
 * Builds every catalog through the newest event, one after the other, in the background. Events during a build are
 * included by the next one. A failed build is retried later and does not stop other catalogs.
 */
export class SnapshotBuilder implements CatalogBuilder {
  readonly #deps: SnapshotBuilderDeps;
  readonly #failures = new Map<string, Failure>();
  /** Locked for reading while bytes are stored, for writing during a pause. */
  readonly #lock = new RwLock();
  #pausing = new AbortController();
  #resume: () => void = () => undefined;
  readonly #compressing = new AbortController();
  /** Newest snapshots whose renditions wait for compression, by catalog; times in milliseconds since the epoch. */
  readonly #toCompress = new Map<string, { snapshot: SnapshotRecord; first: number; last: number }>();
  #compression: Promise<void> | undefined;
  /** Catalogs whose old renditions were all evicted since the start. */
  readonly #swept = new Set<string>();
  #storeFailure: Failure | undefined;
  /** Every catalog that can be built includes all events up to this one. */
  readonly #builtThrough = new EventHighWaterMark();
  #woken = true;
  /** Whether another pass must visit every catalog before waiting callers are notified. */
  #needsAnotherPass = false;
  #stopping = false;
  #wakeLoop: () => void = () => undefined;
  #running: Promise<void> | undefined;

  constructor(deps: SnapshotBuilderDeps) {
    this.#deps = deps;
  }

  /** Starts with a pass over all catalogs: an earlier process may have left events. */
  start(): void {
    this.#running ??= this.#run();
  }

  wake(): void {
    this.#woken = true;
    this.#wakeLoop();
  }

  async waitFor(event: number, milliseconds: number = SERVER_LIMITS.waitMilliseconds): Promise<boolean> {
    if (this.#builtThrough.event >= event) return true;
    if (this.#stopping) return false;
    this.wake();
    return this.#builtThrough.waitFor(event, milliseconds);
  }

  async buildNow(name: string): Promise<void> {
    this.#failures.delete(name);
    const event = await this.#deps.store.lastEvent();
    // A pass that has already visited this catalog may have reached the event, or be about to.
    this.#needsAnotherPass = true;
    this.#builtThrough.event = Math.min(this.#builtThrough.event, event - 1);
    if (!(await this.waitFor(event))) {
      throw new KrmhubError('unavailable', `catalog ${name} is still being built`, {
        hint: 'Try again later.',
      });
    }
    const failure = this.#failures.get(name);
    if (failure !== undefined) throw failure.error;
  }

  status(): BuilderStatus {
    return {
      caughtUp: this.#builtThrough.event >= 0,
      ...(this.#storeFailure === undefined ? {} : { failure: errorMessage(this.#storeFailure.error) }),
      failing: [...this.#failures].map(([catalog, { error }]) => ({ catalog, message: errorMessage(error) })),
    };
  }

  async pause(): Promise<void> {
    this.#pausing.abort();
    this.#pausing = new AbortController();
    await new Promise<void>((paused) => {
      void this.#lock.write(
        () =>
          new Promise<void>((resume) => {
            this.#resume = resume;
            paused();
          }),
      );
    });
  }

  resume(): void {
    this.#resume();
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.#compressing.abort();
    this.#wakeLoop();
    await this.#running;
    await this.#compression;
    this.#builtThrough.stopWaiting();
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      if (!this.#woken) await this.#sleep();
      if (this.#stopping) return;
      this.#woken = false;
      try {
        await this.#pass();
        this.#storeFailure = undefined;
      } catch (error) {
        this.#storeFailure = this.#nextFailure(this.#storeFailure, error);
        this.#deps.log.error({ err: error }, 'cannot build snapshots');
        this.#deps.onPass?.(this.#builtThrough.event, this.status());
      }
    }
  }

  /** Waits until the next wake-up or retry. */
  async #sleep(): Promise<void> {
    const due = [
      ...this.#failures.values(),
      ...(this.#storeFailure === undefined ? [] : [this.#storeFailure]),
    ];
    const next = Math.min(...due.map(({ retryAt }) => retryAt));
    await new Promise<void>((resolve) => {
      this.#wakeLoop = resolve;
      if (!Number.isFinite(next)) return;
      const timer = setTimeout(resolve, Math.max(next - this.#now(), 0));
      this.#wakeLoop = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wakeLoop = () => undefined;
  }

  async #pass(): Promise<void> {
    const { store } = this.#deps;
    this.#needsAnotherPass = false;
    const through = await store.lastEvent();
    const catalogs = await store.catalogs();
    for (const name of this.#failures.keys()) {
      if (!catalogs.some((catalog) => catalog.name === name)) this.#failures.delete(name);
    }
    for (const catalog of catalogs) {
      if (this.#stopping) return;
      if (catalog.newest !== undefined) {
        // The process that built it may have ended before it compressed or announced it.
        if (this.#builtThrough.event < 0) {
          this.#compressSoon(catalog.newest);
          if (catalog.newest.withdrawn === undefined) this.#deps.onSnapshot(catalog.newest);
        }
        this.#deps.metrics.catalogFunctions(catalog.name, catalog.newest.functions);
        if (catalog.throughEvent >= through) {
          this.#failures.delete(catalog.name);
          continue;
        }
      }
      const failure = this.#failures.get(catalog.name);
      if (failure !== undefined && failure.retryAt > this.#now()) continue;
      // Do not serve a catalog that lacks a source which was never synced.
      if ((await store.sources(catalog.name)).some(({ checkedAt }) => checkedAt === undefined)) continue;
      await this.#build(catalog.name, failure);
    }
    await this.#synchronizeSearch();
    if (!this.#needsAnotherPass) this.#builtThrough.event = Math.max(this.#builtThrough.event, through);
    this.#deps.onPass?.(this.#builtThrough.event, this.status());
  }

  async #build(name: string, earlier: Failure | undefined): Promise<void> {
    const { log, metrics, store, renditions } = this.#deps;
    const started = performance.now();
    const seconds = () => (performance.now() - started) / 1000;
    try {
      const snapshot = await this.#lock.read(async () => {
        const cut = await buildSnapshot(this.#deps, name);
        // Before a takedown can withdraw it.
        if (cut !== undefined) this.#deps.onSnapshot(cut);
        return cut;
      });
      this.#failures.delete(name);
      metrics.build(name, snapshot === undefined ? 'unchanged' : 'snapshot', seconds());
      if (snapshot === undefined) return;
      this.#compressSoon(snapshot);
      metrics.catalogFunctions(name, snapshot.functions);
      log.info(
        {
          catalog: name,
          serial: snapshot.serial,
          functions: snapshot.functions,
          seconds: Number(seconds().toFixed(3)),
        },
        'catalog cut',
      );
    } catch (error) {
      this.#failures.set(name, this.#nextFailure(earlier, error));
      metrics.build(name, 'failed', seconds());
      log.error({ err: error, catalog: name }, 'cannot build a snapshot');
      return;
    }
    try {
      // The first build of this process evicts what an earlier process regenerated.
      const first = !this.#swept.has(name);
      const depth = SERVER_LIMITS.retainedSnapshots + SERVER_LIMITS.evictedSnapshots;
      const history = await store.snapshots(name, first ? Number.MAX_SAFE_INTEGER : depth);
      await renditions.evict(
        history.slice(SERVER_LIMITS.retainedSnapshots),
        history.slice(0, SERVER_LIMITS.retainedSnapshots),
      );
      this.#swept.add(name);
    } catch (error) {
      // Old renditions only use disk space; the next build evicts them.
      log.warn({ err: error, catalog: name }, 'cannot evict renditions of old snapshots');
    }
  }

  /** Updates search before `waitFor` resolves for the new snapshots. */
  async #synchronizeSearch(): Promise<void> {
    const { store } = this.#deps;
    const stopping = this.#compressing.signal;
    const once = () => store.synchronizeSearch(AbortSignal.any([stopping, this.#pausing.signal]));
    // A pause interrupts it; it continues afterwards.
    while (!stopping.aborted && !(await this.#lock.read(once)));
  }

  /**
   * Compresses large renditions; until then, clients get them uncompressed. It waits until the catalog is quiet: the
   * next build would make the work useless, and needs the processor.
   */
  #compressSoon(snapshot: SnapshotRecord): void {
    const now = this.#now();
    const first = this.#toCompress.get(snapshot.catalog)?.first ?? now;
    this.#toCompress.set(snapshot.catalog, { snapshot, first, last: now });
    this.#compression ??= this.#compressAll();
  }

  async #compressAll(): Promise<void> {
    const { renditions, log } = this.#deps;
    const { signal } = this.#compressing;
    try {
      for (const catalog of this.#toCompress.keys()) {
        for (;;) {
          const { first, last } = this.#toCompress.get(catalog)!;
          const due = Math.min(
            last + SERVER_LIMITS.compressAfterMilliseconds,
            first + SERVER_LIMITS.compressWithinMilliseconds,
          );
          const wait = due - this.#now();
          if (wait <= 0) break;
          await sleep(wait, undefined, { signal });
        }
        const due = this.#toCompress.get(catalog)!;
        this.#toCompress.delete(catalog);
        try {
          await this.#lock.read(() =>
            renditions.compress(due.snapshot, AbortSignal.any([signal, this.#pausing.signal])),
          );
        } catch (error) {
          if (!this.#stopping && (error as Error).name === 'AbortError') {
            // A pause interrupted it. A newer snapshot takes precedence.
            if (!this.#toCompress.has(catalog)) this.#toCompress.set(catalog, due);
            continue;
          }
          // The catalog is served without it. Its next snapshot or the next start tries again.
          if (!this.#stopping) log.warn({ err: error, catalog }, 'cannot compress a catalog');
        }
      }
    } catch (error) {
      if (!this.#stopping) log.error({ err: error }, 'cannot compress catalogs');
    } finally {
      this.#compression = undefined;
    }
  }

  #nextFailure(earlier: Failure | undefined, error: unknown): Failure {
    const attempts = (earlier?.attempts ?? 0) + 1;
    const delay = Math.min(
      SERVER_LIMITS.minRetryMilliseconds * 2 ** (attempts - 1),
      SERVER_LIMITS.maxRetryMilliseconds,
    );
    return { error, attempts, retryAt: this.#now() + delay };
  }

  #now(): number {
    return this.#deps.clock().getTime();
  }
}

function errorMessage(error: unknown): string {
  return error instanceof KrmhubError ? error.message : 'internal error; see the log';
}
