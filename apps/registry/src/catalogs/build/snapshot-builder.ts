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
 * - Events say which catalogs they may change, so that others cost nothing (catalog-changes.ts).
 * - Builds of many changes or of large catalogs, and updates of search, run beside the others. A publish waits only for
 *   catalogs that list its function. These go first, and no other waits forever (due-catalogs.ts).
 * - Catalogs with new recipes are built together: functions are read, and entries rendered, once for all, and those with
 *   the same recipe are selected and hashed once (shared-build.ts). They give way to updates (precedence.ts).
 * - A catalog entry is a row with the serials where it begins and ends, so a snapshot costs what changed, not what it
 *   contains. One transaction commits entries, snapshot, and signature.
 *
 * @module
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { CatalogRecord, SearchSynchronizer, SnapshotRecord } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { LRUCache } from 'lru-cache';
import { SERVER_LIMITS } from '../../limits.js';
import type { Log } from '../../log.js';
import type { BuildMetrics } from '../../metrics.js';
import { Waker } from '../../workers/processes/waker.js';
import { AnnouncedSnapshots } from './announced-snapshots.js';
import { BuildLane, urgentFirst, type WaitingBuild } from './build-lane.js';
import { BuildProgress } from './build-progress.js';
import { type BuildSnapshotDeps, type BuildState, buildSnapshot, lacksSegments } from './build-snapshot.js';
import { buildTogether } from './build-together.js';
import type { BuilderStatus, CatalogBuilder, WaitForBuild } from './catalog-builder.js';
import { CatalogChanges } from './catalog-changes.js';
import { ComparedRules } from './compared-rules.js';
import { dueBuild, readSources } from './due-build.js';
import { DueCatalogs } from './due-catalogs.js';
import { Failures } from './failures.js';
import { Pauses } from './pauses.js';
import { Precedence } from './precedence.js';
import type { KnownEntries } from './rendered-entries.js';
import { Rests } from './rests.js';
import { SearchUpdates } from './search-updates.js';

/** Entries of which the builder knows what they were rendered from: about 20 MB, while new recipes are built. */
const MAX_KNOWN_ENTRIES = 50_000;

export interface SnapshotBuilderDeps extends Omit<BuildSnapshotDeps, 'comparedRules'> {
  store: BuildSnapshotDeps['store'] & SearchSynchronizer;
  log: Log;
  metrics: BuildMetrics;
  /** Called with each event up to which a catalog is built. */
  onBuilt?(catalog: string, event: number): void;
  /** Called with an event that all catalogs include, except those that are behind. */
  onPassedOver?(event: number, behind: readonly string[]): void;
  /** Called after each pass over all catalogs and search, with the event that all of them include. */
  onPass?(reached: number, status: BuilderStatus): void;
}

/**
 * Builds every catalog through the newest event, in the background: small builds one after the other, and beside them
 * large ones, and those of new recipes together. Events during a build are included by the next one. A failed build is
 * retried later and does not stop other catalogs.
 */
export class SnapshotBuilder implements CatalogBuilder {
  readonly #deps: SnapshotBuilderDeps & BuildSnapshotDeps;
  readonly #failures: Failures;
  readonly #pauses = new Pauses();
  readonly #announced: AnnouncedSnapshots;
  readonly #progress = new BuildProgress();
  readonly #search: SearchUpdates;
  /** Whether there are new snapshots since search was last updated. */
  #hasSnapshots = false;
  readonly #changes: CatalogChanges;
  readonly #due = new DueCatalogs();
  /** Catalogs that may have changed since they are in a lane. */
  readonly #touched = new Set<string>();
  readonly #large = new BuildLane((batch) => this.#buildLarge(batch));
  readonly #new = new BuildLane((batch) => this.#buildNew(batch));
  readonly #precedence = new Precedence();
  readonly #known: KnownEntries = new LRUCache({ max: MAX_KNOWN_ENTRIES });
  readonly #waker = new Waker();
  #stopping = false;
  readonly #rests = new Rests();
  #running: Promise<void> | undefined;

  constructor(deps: SnapshotBuilderDeps) {
    this.#deps = { ...deps, comparedRules: new ComparedRules() };
    this.#failures = new Failures(() => deps.clock().getTime());
    this.#changes = new CatalogChanges(deps.store);
    this.#announced = new AnnouncedSnapshots({ ...deps, pauses: this.#pauses });
    this.#search = new SearchUpdates({
      store: deps.store,
      log: deps.log,
      failures: this.#failures,
      pauses: this.#pauses,
      updated: (event) => {
        const { all } = this.#progress;
        all.event = Math.max(all.event, event);
        this.#reportPass();
      },
      failed: () => this.#reportPass(),
      wake: () => this.wake(),
    });
  }

  /** Starts with a pass over all catalogs: an earlier process may have left events. */
  start(): void {
    this.wake();
    this.#running ??= this.#run();
  }

  wake(): void {
    this.#waker.wake();
  }

  /** Wakes it, and ends a rest. These catalogs go first. */
  wakeUrgently(catalogs: readonly string[] = []): void {
    this.#due.expedite(catalogs);
    this.#rests.end();
    this.wake();
  }

  async waitFor({ event, milliseconds, catalogs, inTurn = false }: WaitForBuild): Promise<boolean> {
    if (this.#progress.includes(event, catalogs)) return true;
    if (this.#stopping) return false;
    if (inTurn) this.wake();
    else this.wakeUrgently(catalogs);
    return this.#progress.waitFor(event, milliseconds ?? SERVER_LIMITS.waitMilliseconds, catalogs);
  }

  async buildNow({ name }: { name: string }): Promise<void> {
    this.#failures.of.delete(name);
    this.#due.add(name);
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
    const failure = this.#failures.of.get(name);
    if (failure !== undefined) throw failure.error;
    // The caller may search next. Many changes take longer, and search has them later.
    const timeout = new AbortController();
    const rest = sleep(Math.max(until - performance.now(), 0), undefined, { signal: timeout.signal });
    await Promise.race([this.#search.soon(this.#progress.all.event), rest.catch(() => undefined)]);
    timeout.abort();
  }

  status(): BuilderStatus {
    return { caughtUp: this.#progress.all.event >= 0, ...this.#failures.status() };
  }

  pause(): Promise<void> {
    // A takedown may delete them.
    this.#known.clear();
    return this.#pauses.pause();
  }

  resume(): void {
    this.#pauses.resume();
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.#search.stop();
    this.#pauses.interrupt();
    this.#waker.wake();
    this.#rests.end();
    await Promise.all([this.#running, this.#large.stop(), this.#new.stop()]);
    await this.#search.ended();
    this.#progress.stopWaiting();
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      // Until the next retry, or until catalogs are marked.
      await this.#waker.rest(Math.min(this.#failures.untilRetry(), this.#changes.untilPassOver()));
      if (this.#stopping) return;
      this.#rests.begin('pass');
      const started = performance.now();
      let functions = 0;
      try {
        await this.#changes.passOver((name) => this.#isBehind(name));
        functions = await this.#pass();
        this.#failures.ofStore = undefined;
      } catch (error) {
        this.#failures.ofStore = this.#failures.next(this.#failures.ofStore, error);
        this.#deps.log.error({ err: error }, 'cannot build snapshots');
        this.#reportPass();
      }
      await this.#rests.after('pass', performance.now() - started, functions);
    }
  }

  /** Returns how many functions changed since the last pass; 0 if catalogs are left, so that they need not wait. */
  async #pass(): Promise<number> {
    const awaited = this.#due.awaited;
    const { through, affected, functions } = await this.#changes.next();
    for (const name of [...(affected ?? this.#changes.names), ...this.#failures.of.keys()])
      this.#due.add(name);
    if (affected === undefined) this.#deps.metrics.retainCatalogs(this.#changes.names);
    const behind = this.#left();
    this.#progress.passOver(through, behind);
    this.#deps.onPassedOver?.(through, behind);
    const withNewRecipes: WaitingBuild[] = [];
    let isCut = false;
    this.#announced.beforeRead();
    for (const catalog of await this.#readDue(through)) {
      if (this.#stopping) return 0;
      const mayCut = await this.#visit(catalog, through, withNewRecipes).catch((error: unknown) => {
        for (const { name } of [catalog, ...withNewRecipes]) this.#due.add(name);
        throw error;
      });
      // What came meanwhile may be more urgent than what is left, which waits for the next pass.
      isCut = mayCut && this.#waker.isWoken;
      if (isCut) break;
    }
    for (const one of withNewRecipes) this.#new.add(one);
    this.#due.endWait(awaited.filter((name) => !this.#isBehind(name)));
    const included = Math.min(through, ...this.#left().map((name) => this.#progress.of(name).event));
    if (included > this.#progress.all.event || this.#hasSnapshots) {
      this.#hasSnapshots = false;
      void this.#search.soon(included);
    } else this.#reportPass();
    return isCut ? 0 : functions;
  }

  async #readDue(through: number): Promise<CatalogRecord[]> {
    const names = [...this.#due.names];
    const found = await this.#changes.read(names);
    // What became due meanwhile was not read.
    for (const name of names.filter((one) => !found.has(one))) {
      // It was deleted: nobody waits for it.
      this.#due.delete(name);
      this.#failures.of.delete(name);
      this.#reach(name, through);
      this.#deps.metrics.retainCatalogs(this.#changes.names);
    }
    return this.#due.inOrder(found.values());
  }

  /**
   * Builds a catalog, or leaves it to a lane. It is due again afterwards only if it waits for something. Returns whether
   * it built one that is not urgent.
   */
  async #visit(catalog: CatalogRecord, through: number, withNewRecipes: WaitingBuild[]): Promise<boolean> {
    const { store, metrics } = this.#deps;
    const { name, newest } = catalog;
    await this.#announced.announceOnce(catalog);
    if (newest !== undefined) metrics.catalogFunctions(name, newest.functions);
    if (this.#large.has(name) || this.#new.has(name)) {
      this.#due.delete(name);
      this.#touched.add(name);
      return false;
    }
    const isBuilt = newest !== undefined && catalog.throughEvent >= through;
    // An older version built it. It is served meanwhile.
    const isOld = newest !== undefined && lacksSegments(newest);
    if (isBuilt && !isOld) this.#failures.of.delete(name);
    const { sources, isWaiting } = await readSources(store, catalog);
    const isUrgent = this.#due.isUrgent(catalog);
    // It is the last one then.
    this.#due.delete(name);
    if (isWaiting) this.#due.add(name);
    if (isWaiting || !this.#failures.isDue(name) || (isBuilt && !isOld)) {
      this.#reach(name, through);
      return false;
    }
    const functions = newest?.functions ?? 0;
    const isNew = catalog.throughEvent === 0;
    const due = isBuilt || isNew ? undefined : await dueBuild(store, catalog, { sources, through });
    const waiting = { name, through, functions, isUrgent, changed: due?.state.changed?.length ?? functions };
    if (isNew) withNewRecipes.push(waiting);
    else if (isBuilt || due?.isLarge === true) this.#large.add(waiting);
    if (isBuilt) this.#reach(name, through);
    if (isNew || isBuilt || due?.isLarge === true) return false;
    if (due === undefined) this.#failures.of.delete(name);
    else await this.#build(name, due.state);
    // Without a new snapshot, the next pass compresses the one of an older version.
    if (isOld) {
      this.#due.add(name);
      this.wake();
    }
    this.#reach(name, through);
    return due !== undefined && !isUrgent;
  }

  /** Returns the catalogs that a pass or a lane has yet to build. */
  #left(): string[] {
    return [...this.#due.names, ...this.#large.names, ...this.#new.names];
  }

  #isBehind(name: string): boolean {
    return this.#due.has(name) || this.#failures.of.has(name) || this.#large.has(name) || this.#new.has(name);
  }

  #reach(catalog: string, event: number): void {
    const mark = this.#progress.of(catalog);
    if (mark.event >= event) return;
    mark.event = event;
    this.#deps.onBuilt?.(catalog, event);
  }

  async #buildLarge(batch: readonly WaitingBuild[]): Promise<void> {
    for (const { name, through, changed } of urgentFirst(batch)) {
      this.#rests.begin('large');
      const started = performance.now();
      if (!this.#stopping) await this.#build(name);
      this.#large.done(name);
      this.#endLane(name, through);
      if (!this.#stopping) await this.#rests.after('large', performance.now() - started, changed);
    }
  }

  /** Builds catalogs with new recipes together. Those that it leaves out wait for the next batch. */
  async #buildNew(batch: readonly WaitingBuild[]): Promise<void> {
    const waiting = new Map(batch.map((one) => [one.name, one]));
    const started = performance.now();
    const ended = (name: string, event: number, snapshot: SnapshotRecord | undefined) => {
      this.#built(name, started, snapshot);
      this.#new.done(name);
      this.#endLane(name, Math.max(event, waiting.get(name)!.through));
    };
    const failed = async (name: string, error: unknown) => {
      await this.#failed(name, started, error);
      this.#known.clear();
      this.#new.done(name);
      this.#endLane(name, waiting.get(name)!.through);
    };
    try {
      await this.#pauses.between(async (signal) => {
        const mayContinue = async () => {
          await this.#precedence.giveWay(signal);
          return !signal.aborted && !this.#stopping;
        };
        const together = { known: this.#known, mayContinue, built: ended, failed };
        if (!this.#stopping) await buildTogether(this.#deps, [...waiting.keys()], together);
      });
    } catch (error) {
      for (const name of waiting.keys()) if (this.#new.has(name)) await failed(name, error);
    }
  }

  #endLane(name: string, through: number): void {
    this.#reach(name, through);
    if (this.#touched.delete(name)) this.#due.add(name);
    this.wake();
  }

  async #build(name: string, state?: BuildState): Promise<void> {
    const started = performance.now();
    try {
      const work = () => this.#pauses.between(() => buildSnapshot(this.#deps, name, state));
      this.#built(name, started, await this.#precedence.update(work));
    } catch (error) {
      await this.#failed(name, started, error);
    }
  }

  #built(name: string, started: number, snapshot: SnapshotRecord | undefined): void {
    const { log, metrics } = this.#deps;
    const seconds = (performance.now() - started) / 1000;
    this.#failures.of.delete(name);
    metrics.build(name, snapshot === undefined ? 'unchanged' : 'snapshot', seconds);
    if (snapshot === undefined) return;
    this.#hasSnapshots = true;
    const { serial, functions } = snapshot;
    metrics.catalogFunctions(name, functions);
    log.info({ catalog: name, serial, functions, seconds: Number(seconds.toFixed(3)) }, 'snapshot built');
  }

  async #failed(name: string, started: number, error: unknown): Promise<void> {
    // It was deleted meanwhile.
    const isGone = await this.#deps.store.catalog(name).then(
      (catalog) => catalog === undefined,
      () => false,
    );
    if (isGone) return;
    this.#failures.of.set(name, this.#failures.next(this.#failures.of.get(name), error));
    this.#deps.metrics.build(name, 'failed', (performance.now() - started) / 1000);
    this.#deps.log.error({ err: error, catalog: name }, 'cannot build a snapshot');
  }

  #reportPass(): void {
    this.#deps.onPass?.(this.#progress.all.event, this.status());
  }
}
