/**
 * The store of records in SQLite: WAL mode, one process per file.
 *
 * Writes that arrive together share a transaction and a sync of the log, which does not block the thread (log-sync.ts).
 * A write that finds the database locked by another program waits between turns of the event loop, so that reads
 * continue.
 *
 * @module
 */

import type { Log } from '../../log.js';
import { recordRows } from '../records/record-rows.js';
import type { RegistryStore } from '../registry-store.js';
import { searchRows } from '../search/search.js';
import { sqliteIndex as search } from '../search/sqlite-index.js';
import { synchronizeSearch } from '../search/synchronize.js';
import { type Connection, openConnection, openSecondConnection } from './connection.js';
import { erase } from './erase.js';
import { checkpointThread, LogCheckpoint } from './log-checkpoint.js';

/**
 * Opens the database in a file, or `:memory:`, and migrates it. The file's folder must exist. Rejects with
 * `unavailable` if another process uses the file, it cannot be read or written, or a newer program migrated it;
 * `storage-full` if the disk is full. With `checkpoints`, a thread moves the log into the database.
 */
export async function openSqliteStore(file: string, checkpoints?: { log: Log }): Promise<RegistryStore> {
  const connection = openConnection(file);
  const store = createStore(connection);
  if (checkpoints === undefined) return store;
  const { log } = checkpoints;
  const checkpoint = new LogCheckpoint(connection, { thread: checkpointThread(file, log), log });
  return {
    ...store,
    close: async () => {
      await checkpoint.close();
      await store.close();
    },
  };
}

/** Opens a database that another thread of this process has opened. */
export function openSecondSqliteStore(file: string): RegistryStore {
  return createStore(openSecondConnection(file));
}

/** Returns the store on a connection. Closing the store closes it. */
export function createStore(connection: Connection): RegistryStore {
  const { sql } = connection;
  return {
    ...recordRows(sql, search, () => erase(connection)),
    ...searchRows(connection),
    synchronizeSearch: synchronizeSearch(sql),
    durable: () => connection.durable(),
    check: () => connection.check(),
    close: async () => connection.close(),
  };
}
