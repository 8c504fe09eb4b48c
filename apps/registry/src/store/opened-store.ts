import type { Log } from '../log.js';
import type { StatementMetrics } from '../metrics.js';
import type { Processes } from '../workers/processes/processes.js';
import type { SharedDatabase } from '../workers/processes/shared-database.js';
import type { PieceStore } from './blobs/s3/pieces.js';
import type { DataPaths } from './data-folder.js';
import type { RegistryStore } from './registry-store.js';
import type { IndexDeleter } from './search/follow/index-copies.js';

export interface OpenStoreOptions {
  /** The data folder: files there, and the search index of a database that is not SQLite. */
  paths: DataPaths;
  /** Whether blobs are where several processes read them. */
  sharedBlobs: boolean;
  /** Whether threads search. */
  threads: boolean;
  log: Log;
  /** Called for statements to PostgreSQL. */
  metrics?: StatementMetrics;
}

export interface OpenedStore {
  store: RegistryStore;
  processes: Processes;
  /** Starts the threads that the first searches would wait for. */
  startSearch(): void;
  /**
   * Begins to fill the search index, from a copy if it is new, and to write copies while this process leads. Returns the
   * copies. Absent if search is part of the database.
   */
  startSearchIndex?(pieces: PieceStore | undefined): IndexDeleter | undefined;
  /** Includes changes in searches in the background; absent if the snapshot builder does so. */
  searchSoon?(): void;
  /** Returns why searches do not find all functions yet. Absent if search is part of the database. */
  searchProblem?(): Promise<string | undefined>;
  /** Returns how many events searches do not include yet. Absent if search is part of the database. */
  searchLag?(): Promise<number>;
  /** Absent if only one process can use the database. */
  shared?: SharedDatabase;
}
