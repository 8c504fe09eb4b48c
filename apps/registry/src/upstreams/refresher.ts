/**
 * Syncs upstream catalogs: fetches them when they are due, verifies them, and stores their entries.
 *
 * The state of a source belongs to the catalog whose recipe names it: its last good copy, its entries and when each was
 * first seen with these bytes, the highest known serial, and the last problem.
 *
 * - Content is read in a bounded process, because it can be hostile. `planRefresh` rejects a lower serial, another
 *   catalog under a known serial, and a signature that expired, is invalid, or is missing now. Then the last good copy
 *   is served and marked stale.
 * - A sync that changes something appends an event. So does time, when entries reach the minimum age of a recipe
 *   (`catalog.clock` is the time by which a catalog is judged). So a build handles only changes and gives the same as a
 *   full build.
 * - While an entry is too young, the entry before it is served.
 * - A group belongs to the sources whose `match` names it, otherwise to this registry if it has or had a release in it.
 *   Entries of other sources are claims: rejected and reported.
 * - A new recipe is built once each of its sources was synced, so that no client gets a catalog without one of them.
 * - Entries have no release. Their digest is that of their normal form, which is stored once, as it is rendered.
 *
 * @module
 */

import { readSourceAddress, type SourceRecord } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { SERVER_LIMITS } from '../limits.js';
import type { Log } from '../log.js';
import type { SyncMetrics } from '../metrics.js';
import type { CatalogRefresher } from './catalog-refresher.js';
import { CopySweep } from './copy-sweep.js';
import { MinimumAgeScheduler } from './minimum-age.js';
import { type RefreshDeps, type RefreshResult, refreshSource } from './refresh-source.js';
import type { UpstreamReader } from './upstream-reader.js';

export interface RefresherDeps extends RefreshDeps {
  reader: UpstreamReader;
  log: Log;
  metrics: SyncMetrics;
  /** Called when catalogs must be built: something changed, or a catalog no longer waits for a source. */
  onChange(): void;
}

interface RunningPoll {
  url: string;
  origin: string;
  /** Whether the previous sync failed. */
  failed: boolean;
  /** Interrupts the sync. */
  end: AbortController;
  done: Promise<void>;
}

/** A caller that waits for a sync of a source. */
interface SyncRequest {
  resolve(): void;
  reject(error: unknown): void;
}

/** A failure of the registry itself. Times are in milliseconds since the epoch. */
interface Failure {
  attempts: number;
  retryAt: number;
}

/**
 * Keeps the sources of all recipes in sync. Each is synced when it is due, a few at once and never two of one host,
 * so that a slow or hostile source delays others by its timeout at most.
 */
export class Refresher implements CatalogRefresher {
  readonly #deps: RefresherDeps;
  readonly #minimumAges: MinimumAgeScheduler;
  readonly #sweep: CopySweep;
  readonly #polls = new Map<string, RunningPoll>();
  readonly #requests = new Map<string, SyncRequest[]>();
  readonly #failures = new Map<string, Failure>();
  readonly #stopping = new AbortController();
  readonly #watchers = new Set<() => void>();
  #running: Promise<void> | undefined;
  #woken = true;
  #wakeLoop: () => void = () => undefined;

  constructor(deps: RefresherDeps) {
    this.#deps = deps;
    this.#minimumAges = new MinimumAgeScheduler(deps);
    this.#sweep = new CopySweep(deps);
  }

  /** Starts with a pass over the whole schedule. */
  start(): void {
    this.#running ??= this.#run();
  }

  wake(): void {
    this.#woken = true;
    this.#wakeLoop();
  }

  refreshNow({ catalog, source }: { catalog: string; source: string }): Promise<void> {
    if (this.#isStopping) return Promise.reject(stopped());
    const key = sourceKey({ catalog, source });
    return new Promise((resolve, reject) => {
      this.#requests.set(key, [...(this.#requests.get(key) ?? []), { resolve, reject }]);
      this.#failures.delete(key);
      this.wake();
    });
  }

  async waitFor({ catalog, milliseconds }: { catalog: string; milliseconds: number }): Promise<boolean> {
    const until = performance.now() + milliseconds;
    for (;;) {
      const changed = this.#nextChange(until - performance.now());
      try {
        const waiting = (await this.#deps.store.sources(catalog)).filter(isUnrequested);
        if (waiting.length === 0) return true;
        if (this.#isStopping || performance.now() >= until) return false;
        for (const one of waiting) this.#failures.delete(sourceKey(one));
        this.wake();
        await changed.promise;
      } finally {
        changed.forget();
      }
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#wakeLoop();
    this.#notifyWatchers();
    await this.#deps.reader.close();
    await this.#running;
    await Promise.all([...this.#polls.values()].map(({ done }) => done));
    for (const request of [...this.#requests.values()].flat()) request.reject(stopped());
    this.#requests.clear();
  }

  get #isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  async #run(): Promise<void> {
    let failures = 0;
    while (!this.#isStopping) {
      this.#woken = false;
      let next: number;
      try {
        next = await this.#pass();
        failures = 0;
      } catch (error) {
        this.#deps.log.error({ err: error }, 'cannot sync sources');
        failures += 1;
        next = this.#now() + retryDelay(failures);
      }
      await this.#sleep(next);
    }
  }

  /** Starts the syncs that are due and allowed. Returns the time of the next pass. */
  async #pass(): Promise<number> {
    const { store } = this.#deps;
    const now = this.#now();
    const sources = await store.sources();
    const urls = new Map(sources.map((record) => [sourceKey(record), record.url]));
    for (const key of this.#failures.keys()) if (!urls.has(key)) this.#failures.delete(key);
    // Their results are no longer needed, and the sources that replaced them would wait for their timeout.
    for (const [key, poll] of this.#polls) if (urls.get(key) !== poll.url) poll.end.abort();
    for (const [key, requests] of this.#requests) {
      if (urls.has(key)) continue;
      this.#requests.delete(key);
      for (const { reject } of requests) reject(sourceNotFound(key));
    }
    let next = now + SERVER_LIMITS.schedulePollMilliseconds;
    for (const record of sources.sort((a, b) => this.#dueAt(a) - this.#dueAt(b))) {
      const due = this.#dueAt(record);
      if (due > now) next = Math.min(next, due);
      else this.#begin(record);
    }
    next = Math.min(next, await this.#minimumAges.applyDue(now, () => this.#changed()));
    await this.#sweep.sweep(now);
    return next;
  }

  #dueAt(record: SourceRecord): number {
    const key = sourceKey(record);
    if (this.#requests.has(key)) return 0;
    return Math.max(Date.parse(record.nextAt), this.#failures.get(key)?.retryAt ?? 0);
  }

  /** Starts a sync if the limits allow it. Its end wakes the loop, which then starts postponed ones. */
  #begin(record: SourceRecord): void {
    const key = sourceKey(record);
    const origin = sourceOrigin(record.url);
    if (this.#isStopping || this.#polls.has(key) || this.#polls.size >= SERVER_LIMITS.maxRefreshes) return;
    const failed = record.failure !== undefined;
    if (failed && this.#retriesFailed >= SERVER_LIMITS.maxRefreshesOfFailed && !this.#requests.has(key))
      return;
    if ([...this.#polls.values()].some((poll) => poll.origin === origin)) return;
    const requests = this.#requests.get(key) ?? [];
    this.#requests.delete(key);
    const end = new AbortController();
    const done = this.#poll(record, requests, end.signal).finally(() => {
      this.#polls.delete(key);
      this.wake();
    });
    this.#polls.set(key, { url: record.url, origin, failed, end, done });
  }

  get #retriesFailed(): number {
    return [...this.#polls.values()].filter(({ failed }) => failed).length;
  }

  async #poll(
    { catalog, source, failure }: SourceRecord,
    requests: readonly SyncRequest[],
    end: AbortSignal,
  ): Promise<void> {
    const { log, metrics } = this.#deps;
    const key = sourceKey({ catalog, source });
    const signal = AbortSignal.any([this.#stopping.signal, end]);
    try {
      const refreshed = await refreshSource(this.#deps, { catalog, source }, signal);
      this.#failures.delete(key);
      if (refreshed !== undefined) {
        metrics.refresh(catalog, source, pollOutcome(refreshed));
        logPoll(log, refreshed, failure !== undefined);
        if (refreshed.event !== undefined || refreshed.isFirstSync) this.#changed();
      }
      this.#notifyWatchers();
      for (const { resolve } of requests) resolve();
    } catch (error) {
      if (end.aborted && !this.#isStopping) {
        // The callers get the result of the new recipe's source, if there is one.
        const all = [...requests, ...(this.#requests.get(key) ?? [])];
        if (all.length > 0) this.#requests.set(key, all);
        return;
      }
      const attempts = (this.#failures.get(key)?.attempts ?? 0) + 1;
      this.#failures.set(key, { attempts, retryAt: this.#now() + retryDelay(attempts) });
      if (!this.#isStopping) {
        metrics.refresh(catalog, source, 'internal');
        log.error({ err: error, catalog, source }, 'cannot sync a source');
      }
      for (const { reject } of requests) reject(this.#isStopping ? stopped() : error);
    }
  }

  #changed(): void {
    this.#deps.onChange();
    this.#notifyWatchers();
  }

  #notifyWatchers(): void {
    for (const watcher of [...this.#watchers]) watcher();
  }

  #nextChange(milliseconds: number): { promise: Promise<void>; forget(): void } {
    let done: () => void = () => undefined;
    const promise = new Promise<void>((resolve) => {
      done = resolve;
    });
    const timer = setTimeout(done, Math.max(milliseconds, 0));
    this.#watchers.add(done);
    return {
      promise,
      forget: () => {
        clearTimeout(timer);
        this.#watchers.delete(done);
      },
    };
  }

  /** Waits until the next wake-up or `until`: milliseconds since the epoch. */
  async #sleep(until: number): Promise<void> {
    if (this.#woken || this.#isStopping) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.max(until - this.#now(), 0));
      this.#wakeLoop = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wakeLoop = () => undefined;
  }

  #now(): number {
    return this.#deps.clock().getTime();
  }
}

/** Reports whether a source was never synced. A catalog with such a source is not built. */
function isUnrequested({ checkedAt }: SourceRecord): boolean {
  return checkedAt === undefined;
}

function pollOutcome({ outcome, event }: RefreshResult): string {
  return outcome === 'fetched' && event === undefined
    ? 'unchanged'
    : outcome === 'fetched'
      ? 'changed'
      : outcome;
}

function logPoll(log: Log, { record, event, outcome }: RefreshResult, wasFailing: boolean): void {
  const { catalog, source, failure, copy } = record;
  if (failure !== undefined) {
    const line = {
      catalog,
      source,
      problem: failure.problem,
      reason: failure.message,
      attempts: failure.attempts,
    };
    if (wasFailing) log.debug(line, 'source sync failed');
    else log.warn(line, 'source sync failed; still serving the last good copy');
    return;
  }
  const line = { catalog, source, digest: copy?.digest, entries: copy?.entries, outcome };
  if (event === undefined) log.debug(line, 'source synced');
  else log.info(line, wasFailing ? 'source recovered' : 'source changed');
}

function sourceOrigin(url: string): string {
  const read = readSourceAddress(url, { folders: true });
  if (!read.ok) return url;
  const { address } = read;
  if (address.type === 'http') return new URL(address.url).host;
  if (address.type === 'git') return new URL(address.repository).host;
  return address.type === 'oci' ? address.reference.split('/')[0]! : 'file';
}

function sourceKey({ catalog, source }: { catalog: string; source: string }): string {
  return `${catalog}/${source}`;
}

function retryDelay(attempts: number): number {
  const { minRetryMilliseconds, maxRetryMilliseconds } = SERVER_LIMITS;
  return Math.min(minRetryMilliseconds * 2 ** Math.min(attempts - 1, 30), maxRetryMilliseconds);
}

function sourceNotFound(key: string): KrmhubError {
  return new KrmhubError('not-found', `source ${key} not found`);
}

function stopped(): KrmhubError {
  return new KrmhubError('unavailable', 'the registry is shutting down', {
    hint: 'Try again in a few seconds.',
  });
}
