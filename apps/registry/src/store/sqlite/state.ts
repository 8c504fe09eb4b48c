import { statSync } from 'node:fs';
import type { EntryReader, EventStore, SourceStore } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import type BetterSqlite3 from 'better-sqlite3';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { eventRows } from '../records/events/events.js';
import { type FunctionRows, functionRows } from '../records/functions/functions.js';
import { type CatalogRows, catalogRows } from '../records/snapshots/catalogs.js';
import { servedEntryRows } from '../records/snapshots/served-entries.js';
import { sourceRows } from '../records/sources/sources.js';
import { sqliteIndex } from '../search/sqlite-index.js';
import type { Sql } from '../sql/sql.js';
import {
  BUSY_TIMEOUT_MS,
  type Connection,
  MIGRATIONS_FOLDER,
  refuseForeignTables,
  refuseUnknownMigrations,
} from './connection.js';
import { Database } from './driver.js';
import { attempt, isDamaged, translateSqliteError } from './errors.js';
import { withSql } from './sqlite-sql.js';

/** Reads of one state of a database. */
export interface DatabaseReads {
  store: FunctionRows & CatalogRows & EntryReader & EventStore & SourceStore;
  /** Client within one read transaction; only `temp` can have new tables. */
  client: BetterSqlite3.Database;
  /** Runs work in it. */
  read: Sql['read'];
}

/** A database in the state at which it was opened, regardless of later writes. */
export interface DatabaseState extends DatabaseReads {
  close(): void;
}

/**
 * Opens a database read-only, also while a registry runs. Rejects with `unavailable` if it is missing or unreadable,
 * or if its tables are of another version.
 */
export function openDatabaseState(file: string): DatabaseState {
  if (!isThere(file)) {
    throw noRegistry(`${file} is missing`);
  }
  let client: BetterSqlite3.Database | undefined;
  try {
    client = new Database(file, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
    client.exec('BEGIN');
    // The first read sets the state that the transaction sees.
    if (!refuseForeignTables(client, file)) throw noRegistry(`${file} is empty`);
    refuseUnknownMigrations(client, file);
    refuseMissingMigrations(client, file);
    return databaseState(client);
  } catch (error) {
    client?.close();
    throw asUnreadable(file, error);
  }
}

function databaseState(client: BetterSqlite3.Database): DatabaseState {
  const read: Connection['read'] = (work) => attempt(work);
  const connection = withSql<Omit<Connection, 'sql'>>({
    client,
    db: drizzle(client),
    read,
    // No exposed method writes; SQLite would reject it.
    write: read,
    onCommit: () => undefined,
    pauseWrites: (work) => work(),
    durable: async () => undefined,
    check: async () => undefined,
    close: () => client.close(),
  });
  return {
    store: {
      ...functionRows(connection.sql, sqliteIndex),
      ...eventRows(connection.sql),
      ...catalogRows(connection.sql, sqliteIndex),
      ...servedEntryRows(connection.sql),
      ...sourceRows(connection.sql),
    },
    client,
    read: connection.sql.read,
    close: () => client.close(),
  };
}

function refuseMissingMigrations(client: BetterSqlite3.Database, file: string): void {
  const applied = client.prepare('SELECT count(*) FROM __drizzle_migrations').pluck().get();
  if (applied === readMigrationFiles({ migrationsFolder: MIGRATIONS_FOLDER }).length) return;
  throw new KrmhubError('unavailable', `the database ${file} is not migrated yet`, {
    hint: 'Nothing was changed. To check it or back it up before, use the version that last served it. To upgrade it, stop the registry and run `krmhub migrate`, or start this version of krmhub.',
  });
}

function noRegistry(problem: string): KrmhubError {
  return new KrmhubError('unavailable', `no registry found: ${problem}`, {
    hint: 'Set the data folder of a registry with --data or KRMHUB_DATA.',
  });
}

/** Translates SQLite errors for a file that is not a readable database. */
function asUnreadable(file: string, error: unknown): unknown {
  const translated = translateSqliteError(error);
  if (!isDamaged(error) && !(translated instanceof Database.SqliteError)) return translated;
  const { message } = translated as Error;
  return new KrmhubError('unavailable', `cannot read ${file} as a database: ${message}`, {
    hint: 'Restore the registry from a backup.',
    cause: error,
  });
}

function isThere(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) !== undefined;
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new KrmhubError('unavailable', `cannot read ${file}: ${code}`, {
      hint: 'Run the command as the owner of the data folder.',
      cause,
    });
  }
}
