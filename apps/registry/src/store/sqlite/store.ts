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
import { manifestStore } from '../records/artifacts/artifacts.js';
import { missingArtifacts } from '../records/artifacts/store-artifacts.js';
import { uploadRows } from '../records/artifacts/uploads.js';
import { auditRows } from '../records/audit/audit.js';
import { eventRows } from '../records/events/events.js';
import { consumerRows } from '../records/functions/consumers.js';
import { functionRows } from '../records/functions/functions.js';
import { ownerClaimRows } from '../records/functions/owner-claims.js';
import { policyRows } from '../records/functions/policies.js';
import { missingWords } from '../records/functions/release-words.js';
import { catalogRows } from '../records/snapshots/catalogs.js';
import { profileRows } from '../records/snapshots/profiles.js';
import { servedEntryRows } from '../records/snapshots/served-entries.js';
import { sourceRows } from '../records/sources/sources.js';
import { takedownRows } from '../records/takedowns/takedowns.js';
import { directoryGroupRows } from '../records/tokens/directory-groups.js';
import { directoryUserRows } from '../records/tokens/directory-users.js';
import { loginRows } from '../records/tokens/login-requests.js';
import { sessionRows } from '../records/tokens/sessions.js';
import { settingRows } from '../records/tokens/settings.js';
import { signInRows } from '../records/tokens/sign-ins.js';
import { tokenRows } from '../records/tokens/tokens.js';
import { trustedPublisherRows } from '../records/tokens/trusted-publishers.js';
import { userRows } from '../records/tokens/users.js';
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
    ...functionRows(sql, search),
    ...searchRows(connection),
    ...servedEntryRows(sql),
    synchronizeSearch: synchronizeSearch(sql),
    ...eventRows(sql),
    ...auditRows(sql),
    ...catalogRows(sql, search),
    ...sourceRows(sql),
    ...profileRows(sql),
    ...takedownRows(sql, { search, erase: () => erase(connection) }),
    ...tokenRows(sql),
    ...sessionRows(sql),
    ...signInRows(sql),
    ...loginRows(sql),
    ...uploadRows(sql),
    ...settingRows(sql),
    ...policyRows(sql),
    ...ownerClaimRows(sql),
    ...consumerRows(sql),
    ...trustedPublisherRows(sql),
    ...userRows(sql),
    ...directoryUserRows(sql),
    ...directoryGroupRows(sql),
    ...manifestStore(sql),
    ...missingArtifacts(sql),
    ...missingWords(sql, search),
    durable: () => connection.durable(),
    check: () => connection.check(),
    close: async () => connection.close(),
  };
}
