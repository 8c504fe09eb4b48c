import type { RegistryStore } from './registry-store.js';
import { manifestStore } from './sqlite/artifacts.js';
import { catalogRows } from './sqlite/catalogs.js';
import { type Connection, openConnection, openSecondConnection } from './sqlite/connection.js';
import { eventRows } from './sqlite/events.js';
import { formRows } from './sqlite/forms.js';
import { functionRows } from './sqlite/functions.js';
import { artifactKeeper } from './sqlite/keep-artifacts.js';
import { policyRows } from './sqlite/policies.js';
import { searchRows } from './sqlite/search.js';
import { servedEntries } from './sqlite/served-entries.js';
import { sourceRows } from './sqlite/sources.js';
import { synchroniseSearch } from './sqlite/synchronise-search.js';
import { takedownRows } from './sqlite/takedowns.js';
import { tokenRows } from './sqlite/tokens.js';

/**
 * Opens the database in a file, or `:memory:` for as long as the store is open, and brings its tables up to date.
 * The file's folder is there already. Rejects with `unavailable` where another process serves the file, where
 * it cannot be read or written, and where a newer program has migrated it; `storage-full` where the disk is full.
 */
export async function openSqliteStore(file: string): Promise<RegistryStore> {
  return storeOf(openConnection(file));
}

/** Opens a database that another thread of this process has open. */
export function openSecondSqliteStore(file: string): RegistryStore {
  return storeOf(openSecondConnection(file));
}

/** The store on a connection, which it closes. */
export function storeOf(connection: Connection): RegistryStore {
  return {
    ...functionRows(connection),
    ...searchRows(connection),
    servedEntries: servedEntries(connection),
    synchroniseSearch: synchroniseSearch(connection),
    ...eventRows(connection),
    ...catalogRows(connection),
    ...sourceRows(connection),
    ...formRows(connection),
    ...takedownRows(connection),
    ...tokenRows(connection),
    ...policyRows(connection),
    ...manifestStore(connection),
    ...artifactKeeper(connection),
    check: () => connection.check(),
    close: async () => connection.close(),
  };
}
