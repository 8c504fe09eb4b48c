import { onlyProcess } from '../workers/processes/only-process.js';
import type { DatabasePlace } from './database-place.js';
import { refuseLostFiles } from './lost-database.js';
import type { OpenedStore, OpenStoreOptions } from './opened-store.js';
import type { RegistryStore } from './registry-store.js';
import { type SearchThreads, searchThreads } from './search/search-threads.js';
import { openSecondSqliteStore, openSqliteStore } from './sqlite/store.js';

/** Connections to PostgreSQL of each thread that is not the main one. */
const THREAD_CONNECTIONS = 3;

/** What other threads use: the main thread searches. */
export type ThreadStore = Omit<RegistryStore, 'search' | 'nearFunctions'>;

/**
 * Opens the database and migrates it. Rejects with `unavailable` if another process uses it, it cannot be used, a newer
 * program migrated it, or it is not the one of the data folder; `storage-full` if the disk is full.
 */
export async function openStore(place: DatabasePlace, options: OpenStoreOptions): Promise<OpenedStore> {
  const opened = await openPlace(place, options);
  try {
    await refuseLostFiles(options.paths, opened.store, { hasFolders: !options.sharedBlobs });
    return opened;
  } catch (error) {
    await opened.store.close();
    throw error;
  }
}

async function openPlace(place: DatabasePlace, options: OpenStoreOptions): Promise<OpenedStore> {
  const { paths, ...opening } = options;
  if ('url' in place) {
    const { openFollowedStore } = await import('./postgres/followed-store.js');
    return openFollowedStore(place.url, { file: paths.searchIndex, ...opening });
  }
  const { threads, log } = opening;
  const store = await openSqliteStore(place.file, threads ? { log } : undefined);
  const processes = onlyProcess();
  if (!threads) return { store, processes, startSearch: () => undefined };
  const searching = searchThreads(place.file, log);
  return { store: withSearchThreads(store, searching), processes, startSearch: () => searching.start() };
}

/** Opens a database that the main thread of this process has opened. `count` is called for statements to PostgreSQL. */
export async function openThreadStore(
  place: DatabasePlace,
  count: (statements: number) => void,
): Promise<ThreadStore> {
  if ('file' in place) return openSecondSqliteStore(place.file);
  const { openPostgresStore } = await import('./postgres/store.js');
  const { store } = openPostgresStore(place.url, {
    connections: THREAD_CONNECTIONS,
    process: () => place.process,
    count,
  });
  // The index of the main thread follows the database.
  return { ...store, synchronizeSearch: async () => true };
}

/** Returns the store with searches in worker threads. */
function withSearchThreads(store: RegistryStore, threads: SearchThreads): RegistryStore {
  return {
    ...store,
    search: threads.search,
    nearFunctions: threads.nearFunctions,
    close: async () => {
      await threads.close();
      await store.close();
    },
  };
}
