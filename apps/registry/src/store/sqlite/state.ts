import { statSync } from 'node:fs';
import type { EventStore, FunctionStore, SnapshotStore, SourceStore } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import type BetterSqlite3 from 'better-sqlite3';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import {
  BUSY_TIMEOUT_MS,
  type Connection,
  MIGRATIONS_FOLDER,
  refuseUnknownMigrations,
} from './connection.js';
import { Database } from './driver.js';
import { attempt, translateSqliteError } from './errors.js';
import { eventRows } from './events/events.js';
import { type FunctionRows, functionRows } from './functions/functions.js';
import { type CatalogRows, catalogRows } from './snapshots/catalogs.js';
import { sourceRows } from './sources/sources.js';

/** A database as it was when this was opened, whatever a registry writes to it meanwhile. */
export interface DatabaseState {
  store: Pick<
    FunctionStore & EventStore & SnapshotStore & SourceStore,
    keyof FunctionRows | keyof EventStore | keyof CatalogRows | keyof SourceStore
  >;
  /** Inside one read transaction; tables can be made in `temp` alone. */
  client: BetterSqlite3.Database;
  close(): void;
}

/**
 * Opens a database for reading alone, beside the registry that may be serving it. Rejects with `unavailable` where
 * there is none, where it cannot be read, and where its tables are not those of this program.
 */
export function openDatabaseState(file: string): DatabaseState {
  if (!isThere(file)) {
    throw new KrmhubError('unavailable', `no registry found: ${file} is missing`, {
      hint: 'Set the data folder of a registry with --data or KRMHUB_DATA.',
    });
  }
  let client: BetterSqlite3.Database | undefined;
  try {
    client = new Database(file, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
    client.exec('BEGIN');
    // The transaction sees what is there at its first read.
    client.prepare('SELECT count(*) FROM sqlite_schema').get();
    refuseUnknownMigrations(client, file);
    refuseMissingMigrations(client, file);
    return databaseState(client);
  } catch (error) {
    client?.close();
    throw asUnreadable(file, translateSqliteError(error));
  }
}

function databaseState(client: BetterSqlite3.Database): DatabaseState {
  const read: Connection['read'] = (work) => attempt(work);
  const connection: Connection = {
    client,
    db: drizzle(client),
    read,
    // Nothing that is exposed writes; SQLite would refuse it.
    write: read,
    pauseWrites: (work) => work(),
    check: async () => undefined,
    close: () => client.close(),
  };
  return {
    store: {
      ...functionRows(connection),
      ...eventRows(connection),
      ...catalogRows(connection),
      ...sourceRows(connection),
    },
    client,
    close: () => client.close(),
  };
}

function refuseMissingMigrations(client: BetterSqlite3.Database, file: string): void {
  const tables = client.prepare(`SELECT 1 FROM sqlite_schema WHERE name = '__drizzle_migrations'`).get();
  const applied =
    tables === undefined ? 0 : client.prepare('SELECT count(*) FROM __drizzle_migrations').pluck().get();
  if (applied === readMigrationFiles({ migrationsFolder: MIGRATIONS_FOLDER }).length) return;
  throw new KrmhubError('unavailable', `the database ${file} is not migrated yet`, {
    hint: 'Start this version of krmhub once on the data folder. Nothing was changed.',
  });
}

/** SQLite's errors that say that a file is no database, or none that can be opened. */
function asUnreadable(file: string, error: unknown): unknown {
  if (!(error instanceof Database.SqliteError)) return error;
  return new KrmhubError('unavailable', `cannot read ${file} as a database: ${error.code}`, {
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
