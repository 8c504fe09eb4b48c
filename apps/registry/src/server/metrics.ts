import type { SourceRecord } from '@krmhub/catalog';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { SERVER_LIMITS } from '../limits.js';
import type { Metrics } from '../metrics.js';
import { bounded } from '../workers/locks/bounded.js';
import { addMainThreadDelay } from './main-thread-delay.js';

export interface MetricsOptions {
  countFunctions: () => Promise<number>;
  sources: () => Promise<SourceRecord[]>;
  clock: () => Date;
  /** Returns the log lines so far that could not be written. */
  unwrittenLogLines?: () => number;
  /**
   * Adds the delay of the main thread, and the process metrics of prom-client: memory, event loop, garbage collection.
   */
  process: boolean;
}

export function createMetrics(options: MetricsOptions): Metrics & { register: Registry } {
  const register = new Registry();
  if (options.process) collectDefaultMetrics({ register });
  /** Cached responses since the metrics were last rendered. A route has few methods and statuses. */
  const stored = new Map<string, { method: string; status: number; count: number }[]>();
  const requests: Counter<'method' | 'route' | 'status'> = new Counter({
    name: 'krmhub_http_requests_total',
    help: 'Requests by route template and status.',
    labelNames: ['method', 'route', 'status'],
    registers: [register],
    collect() {
      for (const [route, counted] of stored) {
        for (const { method, status, count } of counted.splice(0)) {
          requests.inc({ method, route, status: String(status) }, count);
        }
      }
    },
  });
  const durations = new Histogram({
    name: 'krmhub_http_request_duration_seconds',
    help: 'Time from the request headers until the response is ready. Catalogs served from memory are not measured.',
    labelNames: ['method', 'route'],
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30],
    registers: [register],
  });
  const publishes = new Counter({
    name: 'krmhub_publishes_total',
    help: 'Publishes by outcome, including dry runs.',
    labelNames: ['outcome'],
    registers: [register],
  });
  const cuts = new Counter({
    name: 'krmhub_cuts_total',
    help: 'Snapshot builds of a catalog by outcome.',
    labelNames: ['catalog', 'outcome'],
    registers: [register],
  });
  const cutDurations = new Histogram({
    name: 'krmhub_cut_duration_seconds',
    help: 'Duration of a snapshot build.',
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 30, 120],
    registers: [register],
  });
  let unwritten = 0;
  const droppedLines: Counter<'reason'> = new Counter({
    name: 'krmhub_log_lines_dropped_total',
    help: 'Log lines that were dropped, because they could not be written or one client sends too many requests.',
    labelNames: ['reason'],
    registers: [register],
    collect() {
      const now = options.unwrittenLogLines?.() ?? 0;
      droppedLines.inc({ reason: 'unwritable' }, now - unwritten);
      unwritten = now;
    },
  });
  const functions = new Gauge({
    name: 'krmhub_catalog_functions',
    help: 'Functions in the newest snapshot of a catalog.',
    labelNames: ['catalog'],
    registers: [register],
  });
  const expiries = new Gauge({
    name: 'krmhub_snapshot_signature_expiry_timestamp_seconds',
    help: 'Expiry time of the signature of the newest snapshot of a catalog.',
    labelNames: ['catalog'],
    registers: [register],
  });
  /** Catalogs in these gauges. */
  const measured = new Set<string>();
  const refreshes = new Counter({
    name: 'krmhub_source_refreshes_total',
    help: 'Syncs of upstream sources by outcome.',
    labelNames: ['catalog', 'source', 'outcome'],
    registers: [register],
  });
  const blobRequests = new Counter({
    name: 'krmhub_blob_store_requests_total',
    help: 'Requests to the S3-compatible store by operation and HTTP status, `failed` without a response.',
    labelNames: ['operation', 'outcome'],
    registers: [register],
  });
  const blobCacheReads = new Counter({
    name: 'krmhub_blob_cache_reads_total',
    help: 'Reads of blobs from the local cache of the S3-compatible store by outcome.',
    labelNames: ['outcome'],
    registers: [register],
  });
  const statements = new Counter({
    name: 'krmhub_database_statements_total',
    help: 'Statements to PostgreSQL for requests, builds, syncs, search, or following other processes. BEGIN and COMMIT count.',
    labelNames: ['work'],
    registers: [register],
  });
  const databaseErrors = new Counter({
    name: 'krmhub_database_errors_total',
    help: 'Failures of work because PostgreSQL cannot be used, by what the work is for.',
    labelNames: ['work'],
    registers: [register],
  });
  const failedLogins = new Counter({
    name: 'krmhub_failed_logins_total',
    help: 'Requests with a token or password that is not valid.',
    registers: [register],
  });
  // While the database is away, the other metrics say so.
  const sources = bounded(options.sources, SERVER_LIMITS.readinessCheckMilliseconds);
  const countFunctions = bounded(options.countFunctions, SERVER_LIMITS.readinessCheckMilliseconds);
  const sourceGauge = (name: string, help: string, measure: (record: SourceRecord, now: number) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['catalog', 'source'],
      registers: [register],
      async collect() {
        // Removes sources that no recipe has any more.
        this.reset();
        const now = options.clock().getTime();
        for (const record of await sources().catch(() => [])) {
          const { catalog, source } = record;
          const value = measure(record, now);
          if (!Number.isNaN(value)) this.set({ catalog, source }, value);
        }
      },
    });
  sourceGauge(
    'krmhub_source_copy_age_seconds',
    'Age of the current copy of a source. It increases while the source is unchanged.',
    ({ copy }, now) => (now - Date.parse(copy?.fetchedAt ?? '')) / 1_000,
  );
  sourceGauge(
    'krmhub_source_failing_seconds',
    'Time since the first of the failed syncs of a source. 0 if the last sync succeeded.',
    ({ failure }, now) => (failure === undefined ? 0 : (now - Date.parse(failure.since)) / 1_000),
  );
  new Gauge({
    name: 'krmhub_functions',
    help: 'Functions of this registry.',
    registers: [register],
    async collect() {
      this.remove();
      const count = await countFunctions().catch(() => undefined);
      if (count !== undefined) this.set(count);
    },
  });
  if (options.process) addMainThreadDelay(register);
  return {
    request(method, route, status, seconds) {
      requests.inc({ method, route, status: String(status) });
      durations.observe({ method, route }, seconds);
    },
    storedResponses(route) {
      const counted = stored.get(route) ?? [];
      stored.set(route, counted);
      return (method, status) => {
        for (const one of counted) {
          if (one.status === status && one.method === method) {
            one.count += 1;
            return;
          }
        }
        counted.push({ method, status, count: 1 });
      };
    },
    publish: (outcome) => publishes.inc({ outcome }),
    build(catalog, outcome, seconds) {
      cuts.inc({ catalog, outcome });
      cutDurations.observe(seconds);
    },
    catalogFunctions(catalog, count) {
      measured.add(catalog);
      functions.set({ catalog }, count);
    },
    signatureExpires(catalog, at) {
      measured.add(catalog);
      expiries.set({ catalog }, at / 1_000);
    },
    logLineDropped: () => droppedLines.inc({ reason: 'client-quota' }),
    databaseFailed: (work) => databaseErrors.inc({ work }),
    loginFailed: () => failedLogins.inc(),
    retainCatalogs(names) {
      for (const catalog of measured) {
        if (names.includes(catalog)) continue;
        measured.delete(catalog);
        functions.remove({ catalog });
        expiries.remove({ catalog });
      }
    },
    refresh: (catalog, source, outcome) => refreshes.inc({ catalog, source, outcome }),
    countRequest: (operation, outcome) => blobRequests.inc({ operation, outcome }),
    countStatements: (work, count) => statements.inc({ work }, count),
    countCacheRead: (outcome) => blobCacheReads.inc({ outcome }),
    render: () => register.metrics(),
    register,
    contentType: register.contentType,
  };
}
