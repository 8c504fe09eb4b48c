/**
 * What a statement of the database is for. `following` is what a process reads to know of changes by others, and what it
 * asks the one that leads.
 */
export type DatabaseWork = 'requests' | 'search' | 'following' | 'builds' | 'syncs';

/** Metrics of the database. */
export interface StatementMetrics {
  /** Statements that were sent to PostgreSQL. */
  countStatements(work: DatabaseWork, statements: number): void;
  /** Work failed because PostgreSQL cannot be used. */
  databaseFailed(work: DatabaseWork): void;
}

/** Metrics of builds. */
export interface BuildMetrics {
  /** The outcome `snapshot` means that the bytes of the catalog changed. */
  build(catalog: string, outcome: 'snapshot' | 'unchanged' | 'failed', seconds: number): void;
  catalogFunctions(catalog: string, functions: number): void;
  /** Keeps only these catalogs. None are measured by a process that does not lead: another one changes them. */
  retainCatalogs(names: readonly string[]): void;
}

/** Metrics of syncs. */
export interface SyncMetrics {
  /** `outcome` is the result of a sync: changed, unchanged, or a problem. */
  refresh(catalog: string, source: string, outcome: string): void;
}

/** Metrics of the registry. Consumers declare only the methods that they call. */
export interface Metrics extends StatementMetrics, BuildMetrics, SyncMetrics {
  /** `route` is the path template, so that the number of time series is bounded. */
  request(method: string, route: string, status: number, seconds: number): void;
  /** Returns a counter of cached responses. They are not timed, because timing costs more than the response. */
  storedResponses(route: string): (method: string, status: number) => void;
  publish(outcome: string): void;
  /** `at` is in milliseconds since the epoch. */
  signatureExpires(catalog: string, at: number): void;
  /** A line was not logged because its client sends too many requests. */
  logLineDropped(): void;
  /** A request to the S3-compatible store; `outcome` is its status, or `failed` without a response. */
  countRequest(operation: string, outcome: string): void;
  /** A read of a blob from the local cache of that store. */
  countCacheRead(outcome: 'hit' | 'miss' | 'corrupt'): void;
  /** A client sent no valid token or password. */
  loginFailed(): void;
  /** Returns the Prometheus text format. */
  render(): Promise<string>;
  contentType: string;
}
