import type { Processes } from '../processes/processes.js';
import type { SharedDatabase } from '../processes/shared-database.js';
import type { RegistryStore } from './registry-store.js';

export interface OpenedStore {
  store: RegistryStore;
  processes: Processes;
  /** Starts the threads that the first searches would wait for. */
  startSearch(): void;
  /** Includes changes in searches in the background; absent if the snapshot builder does so. */
  searchSoon?(): void;
  /** Returns why searches do not find all functions yet. Absent if search is part of the database. */
  searchProblem?(): Promise<string | undefined>;
  /** Absent if only one process can use the database. */
  shared?: SharedDatabase;
}
