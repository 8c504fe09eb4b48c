/**
 * Builds snapshots of catalogs in the background, from the events since the last build.
 *
 * The event log is the work list: a catalog records the last event that it includes.
 *
 * - A build selects entries from release summaries, only for functions that later events touched; a policy also reads
 *   their definitions. A new recipe selects every function again. Releases that arrive during a build, or during the
 *   rest after it, share the next one. A caller that waits for a snapshot ends the rest.
 * - It hashes the documents in YAML and JSON, under both kinds of the KEP, from the last checkpoint before the first
 *   change on (segments/checkpoint-hasher.ts). It reads the texts of unchanged entries from their segments, which are
 *   smaller and in order, and checks that these have the checksum of the newest snapshot.
 * - It compresses the segments that changed (segments/build-segments.ts). Nothing else of a document is stored.
 * - A build of many changes or of a large catalog runs beside the others, and so does the update of search: it holds up
 *   no other catalog. A publish waits only for catalogs that list its function.
 * - A catalog entry is a row with the serials where it begins and ends, so a snapshot costs what changed, not what it
 *   contains. One transaction commits entries, snapshot, and signature.
 *
 * @module
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { SearchStore } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { SERVER_LIMITS } from '../../limits.js';
import type { Log } from '../../log.js';
import type { Metrics } from '../../metrics.js';
import { RwLock } from '../../workers/locks/rw-lock.js';
import { BuildProgress } from './build-progress.js';
import { type BuildSnapshotDeps, type BuildState, buildSnapshot, lacksSegments } from './build-snapshot.js';
import type { BuilderStatus, CatalogBuilder, WaitForBuild } from './catalog-builder.js';
import { dueBuild, readSources } from './due-build.js';

interface Failure {
  error: unknown;
  attempts: number;
  /** Milliseconds since the epoch. */
  retryAt: number;
}

export interface SnapshotBuilderDeps extends BuildSnapshotDeps {
  store: BuildSnapshotDeps['store'] & Pick<SearchStore, 'synchronizeSearch'>;
  log: Log;
  metrics: Pick<Metrics, 'build' | 'catalogFunctions' | 'retainCatalogs'>;
  /** Called with each event up to which a catalog is built. */
  onBuilt?(catalog: string, event: number): void;
  /** Called after each pass over all catalogs and search, with the event that all of them include. */
  onPass?(reached: number, status: BuilderStatus): void;
}

/**
 * Builds every catalog through the newest event, in the background: small builds one after the other, and beside them
 * large ones one after the other. Events during a build are included by the next one. A failed build is retried later
 * and does not stop other catalogs.
 */
export class SnapshotBuilder implements CatalogBuilder {
  readonly #deps: SnapshotBuilderDeps;
  readonly #failures = new Map<string, Failure>();
  /** Locked for reading while bytes are stored, for writing during a pause. */
  readonly #lock = new RwLock();
  #pausing = new AbortController();
  #resume: () => void = () => undefined;
  readonly #stop = new AbortController();
  /** Catalogs whose newest snapshot was announced since the start. */
  readonly #announced = new Set<string>();
  #storeFailure: Failure | undefined;
  #searchFailure: Failure | undefined;
  readonly #progress = new BuildProgress();
  /** Large builds that wait or run, by catalog, with the event that they reach at least. */
  readonly #large = new Map<string, number>();
  #runningLarge: Promise<void> | undefined;
  #searching: Promise<void> | undefined;
  /** What all catalogs include, once search is updated. */
  #searchDue: number | undefined;
  #woken = true;
  /** Whether a caller has waited for a snapshot since the last pass began, and the last large build. */
  #urgent = { pass: false, large: false };
  #stopping = false;
  #wakeLoop: () => void = () => undefined;
  readonly #rests = new Set<() => void>();
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

  /** Wakes it, and ends a rest. */
  wakeUrgently(): void {
    this.#urgent = { pass: true, large: true };
    this.wake();
    this.#endRests();
  }

  async waitFor({ event, milliseconds, catalogs }: WaitForBuild): Promise<boolean> {
    if (this.#progress.includes(event, catalogs)) return true;
    if (this.#stopping) return false;
    this.wakeUrgently();
    return this.#progress.waitFor(event, milliseconds ?? SERVER_LIMITS.waitMilliseconds, catalogs);
  }

  async buildNow({ name }: { name: string }): Promise<void> {
    this.#failures.delete(name);
    const event = await this.#deps.store.lastEvent();
    const mark = this.#progress.of(name);
    // A pass that has already visited this catalog may have reached the event with a failure.
    mark.event = Math.min(mark.event, event - 1);
    const until = performance.now() + SERVER_LIMITS.waitMilliseconds;
    if (!(await this.waitFor({ event, catalogs: [name] }))) {
      throw new KrmhubError('unavailable', `catalog ${name} is still being built`, {
        hint: 'Try again later.',
      });
    }
    const failure = this.#failures.get(name);
    if (failure !== undefined) throw failure.error;
    // The caller may search next. Many changes take longer, and search has them later.
    const timeout = new AbortController();
    const rest = sleep(Math.max(until - performance.now(), 0), undefined, { signal: timeout.signal });
    await Promise.race([this.#searchSoon(), rest.catch(() => undefined)]);
    timeout.abort();
  }

  status(): BuilderStatus {
    const failure = this.#storeFailure ?? this.#searchFailure;
    return {
      caughtUp: this.#progress.all.event >= 0,
      ...defined({ failure: failure === undefined ? undefined : errorMessage(failure.error) }),
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
    this.#stop.abort();
    this.#wakeLoop();
    this.#endRests();
    await this.#running;
    await this.#runningLarge;
    await this.#searching;
    this.#progress.stopWaiting();
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      if (!this.#woken) await this.#sleep();
      if (this.#stopping) return;
      this.#woken = false;
      this.#urgent.pass = false;
      const started = performance.now();
      try {
        await this.#pass();
        this.#storeFailure = undefined;
      } catch (error) {
        this.#storeFailure = this.#nextFailure(this.#storeFailure, error);
        this.#deps.log.error({ err: error }, 'cannot build snapshots');
        this.#deps.onPass?.(this.#progress.all.event, this.status());
      }
      await this.#rest('pass', performance.now() - started);
    }
  }

  /**
   * Leaves the processor to requests after a pass or a large build. Publishes that come meanwhile share the next
   * snapshot.
   */
  async #rest(after: 'pass' | 'large', busyMilliseconds: number): Promise<void> {
    if (this.#urgent[after] || this.#stopping) return;
    const { buildRestFactor, maxBuildRestMilliseconds } = SERVER_LIMITS;
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#rests.delete(end);
        resolve();
      };
      const timer = setTimeout(end, Math.min(busyMilliseconds * buildRestFactor, maxBuildRestMilliseconds));
      this.#rests.add(end);
    });
  }

  #endRests(): void {
    for (const end of this.#rests) end();
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
    const through = await store.lastEvent();
    const catalogs = await store.catalogs();
    this.#deps.metrics.retainCatalogs(catalogs.map(({ name }) => name));
    for (const name of this.#failures.keys()) {
      if (!catalogs.some((catalog) => catalog.name === name)) this.#failures.delete(name);
    }
    for (const catalog of catalogs) {
      if (this.#stopping) return;
      const isFirst = !this.#announced.has(catalog.name);
      this.#announced.add(catalog.name);
      if (catalog.newest !== undefined) {
        // The process that built it may have ended before it announced it.
        if (isFirst && catalog.newest.withdrawn === undefined) this.#deps.onSnapshot(catalog.newest);
        this.#deps.metrics.catalogFunctions(catalog.name, catalog.newest.functions);
        if (catalog.throughEvent >= through) {
          this.#reach(catalog.name, through);
          // An older version built it. It is served meanwhile.
          if (lacksSegments(catalog.newest)) this.#compressBeside(catalog.name, through);
          else this.#failures.delete(catalog.name);
          continue;
        }
      }
      if (this.#large.has(catalog.name)) continue;
      const sources = await readSources(store, catalog);
      const failure = this.#failures.get(catalog.name);
      // Do not serve a catalog that lacks a source which was never synced.
      const isWaiting = sources.some(({ checkedAt }) => checkedAt === undefined);
      if (!isWaiting && (failure === undefined || failure.retryAt <= this.#now())) {
        const due = await dueBuild(store, catalog, { sources, through });
        if (due === undefined) {
          this.#failures.delete(catalog.name);
          this.#reach(catalog.name, through);
          continue;
        }
        if (due.isLarge) {
          this.#buildLarge(catalog.name, through);
          continue;
        }
        await this.#build(catalog.name, due.state);
        // Without a new snapshot, the next pass compresses the one of an older version.
        if (catalog.newest !== undefined && lacksSegments(catalog.newest)) this.wake();
      }
      this.#reach(catalog.name, through);
    }
    const reached = catalogs.map(({ name }) => this.#progress.of(name).event);
    this.#searchDue = Math.min(through, ...reached);
    void this.#searchSoon();
  }

  #reach(catalog: string, event: number): void {
    const mark = this.#progress.of(catalog);
    if (mark.event >= event) return;
    mark.event = event;
    this.#deps.onBuilt?.(catalog, event);
  }

  #compressBeside(name: string, through: number): void {
    const failure = this.#failures.get(name);
    const isDue = failure === undefined || failure.retryAt <= this.#now();
    if (isDue && !this.#large.has(name)) this.#buildLarge(name, through);
  }

  #buildLarge(name: string, through: number): void {
    this.#large.set(name, through);
    this.#runningLarge ??= this.#buildAllLarge();
  }

  async #buildAllLarge(): Promise<void> {
    for (const [name, through] of this.#large) {
      this.#urgent.large = false;
      const started = performance.now();
      if (!this.#stopping) await this.#build(name);
      this.#large.delete(name);
      this.#reach(name, through);
      // The next pass finds what changed meanwhile.
      this.wake();
      await this.#rest('large', performance.now() - started);
    }
    this.#runningLarge = undefined;
  }

  async #build(name: string, state?: BuildState): Promise<void> {
    const { log, metrics } = this.#deps;
    const earlier = this.#failures.get(name);
    const started = performance.now();
    const seconds = () => (performance.now() - started) / 1000;
    try {
      const snapshot = await this.#lock.read(() => buildSnapshot(this.#deps, name, state));
      this.#failures.delete(name);
      metrics.build(name, snapshot === undefined ? 'unchanged' : 'snapshot', seconds());
      if (snapshot === undefined) return;
      metrics.catalogFunctions(name, snapshot.functions);
      log.info(
        {
          catalog: name,
          serial: snapshot.serial,
          functions: snapshot.functions,
          seconds: Number(seconds().toFixed(3)),
        },
        'snapshot built',
      );
    } catch (error) {
      this.#failures.set(name, this.#nextFailure(earlier, error));
      metrics.build(name, 'failed', seconds());
      log.error({ err: error, catalog: name }, 'cannot build a snapshot');
    }
  }

  /** Updates search before `waitFor` resolves for all catalogs. Resolves once it has the snapshots of now. */
  async #searchSoon(): Promise<void> {
    this.#searchDue ??= this.#progress.all.event;
    // A running update may have passed over a snapshot.
    await this.#searching;
    this.#searching ??= this.#synchronizeSearch().finally(() => {
      this.#searching = undefined;
    });
    await this.#searching;
  }

  async #synchronizeSearch(): Promise<void> {
    const { store, log } = this.#deps;
    const stopping = this.#stop.signal;
    const once = () => store.synchronizeSearch(AbortSignal.any([stopping, this.#pausing.signal]));
    try {
      while (this.#searchDue !== undefined && !stopping.aborted) {
        const due = this.#searchDue;
        this.#searchDue = undefined;
        // A pause interrupts it; it continues afterwards.
        while (!stopping.aborted && !(await this.#lock.read(once)));
        const { all } = this.#progress;
        if (!stopping.aborted) all.event = Math.max(all.event, due);
        this.#searchFailure = undefined;
        this.#deps.onPass?.(all.event, this.status());
      }
    } catch (error) {
      if (stopping.aborted) return;
      this.#searchFailure = this.#nextFailure(this.#searchFailure, error);
      log.error({ err: error }, 'cannot update search');
      this.#deps.onPass?.(this.#progress.all.event, this.status());
      setTimeout(() => this.wake(), this.#searchFailure.retryAt - this.#now()).unref();
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
