import { statSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { imageNames, imageRepositories, type RuntimeFacts, runtimeFacts, runtimePins } from '@krmhub/catalog';
import { KrmhubError, sha256 } from '@krmhub/schema';
import type BetterSqlite3 from 'better-sqlite3';
import { type BetterSQLite3Database, drizzle } from 'drizzle-orm/better-sqlite3';
import { migrate } from 'drizzle-orm/better-sqlite3/migrator';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { refuseMoved, sqliteMark } from '../copy/move-mark.js';
import { foldCase, kindText } from '../search/text.js';
import { type PendingWrite, type WriteOptions, writeQueue } from '../sql/write-queue.js';
import { Database } from './driver.js';
import { attempt, isBusy, translateSqliteError } from './errors.js';
import { LogSync } from './log-sync.js';
import { type SyncSql, withSql } from './sqlite-sql.js';

/** Milliseconds for which opening, migrating and reading wait for a lock. */
export const BUSY_TIMEOUT_MS = 1_000;
/** Milliseconds for which a write blocks its thread while the database is locked: the driver is synchronous. */
const WRITE_BUSY_TIMEOUT_MS = 1;
/** Milliseconds between two attempts to write; other work runs meanwhile. */
const WRITE_RETRY_MS = 4;
/** Milliseconds after which a write fails: committing a large snapshot holds the lock for some seconds. */
const WRITE_PATIENCE_MS = 10_000;
/** Writes of one transaction, whose thread is blocked meanwhile: a publish takes about half a millisecond. */
const MAX_WRITES_TOGETHER = 8;
/**
 * Pages of the log after which the main connection moves them into the database, if no thread does (log-checkpoint.ts).
 * Other connections do so after 1,000, the default: each publish wakes the snapshot builder, whose thread may wait for
 * the disk.
 */
const MAX_LOG_PAGES = 8_000;
/** The same of a large change, 128 MB: moving the log less often writes fewer pages several times. */
const MAX_LOG_PAGES_OF_LARGE = 32_000;
const USUAL_LOG_PAGES = 1_000;
/** Milliseconds after which a check reports that the database cannot be written. */
const CHECK_PATIENCE_MS = 3_000;

/** At the root of the repository: the same relative path from dist and from src. */
export const MIGRATIONS_FOLDER = fileURLToPath(new URL('../../../../../migrations/sqlite', import.meta.url));

export interface SqliteClient {
  /** For SQL that drizzle does not support: full-text search and statements over many rows. */
  client: BetterSqlite3.Database;
}

/** Reads of a database. */
export interface ReadableDatabase extends SqliteClient {
  /** Runs `work` on one state of the database. */
  read<Result>(work: () => Result): Promise<Result>;
}

export interface Connection extends ReadableDatabase {
  db: BetterSQLite3Database;
  /**
   * Runs `work` in an IMMEDIATE transaction: it sees the newest state, and is stored whole or not at all. Concurrent
   * writes share the transaction, so that they wait for the disk once, except large ones. Resolves when it is durable;
   * reads can see it before that.
   */
  write<Result>(work: () => Result, options?: WriteOptions): Promise<Result>;
  /** Calls back after each transaction, at most one function. */
  onCommit(callback: () => void): void;
  /** Postpones writes until `work` of another connection is done. Reads continue. */
  pauseWrites<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Resolves when everything that an earlier read could see is durable. */
  durable(): Promise<void>;
  /** Writes the database's header. */
  check(): Promise<void>;
  close(): void;
  /** Runs the work of transactions that any database can run. */
  sql: SyncSql;
}

/**
 * Opens and migrates a database file, or `:memory:`, and locks it against other registry processes. Throws
 * `unavailable` for a database that was moved, unless a move opens it.
 */
export function openConnection(file: string, { isMove = false } = {}): Connection {
  const lock = file === ':memory:' ? undefined : lockFile(file);
  let client: BetterSqlite3.Database | undefined;
  try {
    client = new Database(file, { timeout: BUSY_TIMEOUT_MS });
    refuseForeignTables(client, file);
    refuseUnknownMigrations(client, file);
    client.pragma('journal_mode = WAL');
    prepareClient(client);
    const db = drizzle(client);
    if (!isMove) refuseMoved(sqliteMark(client));
    prepareMigrations(client);
    migrate(db, { migrationsFolder: MIGRATIONS_FOLDER });
    if (lock === undefined) return connection(client, db, {});
    client.pragma('synchronous = NORMAL');
    client.pragma(`wal_autocheckpoint = ${MAX_LOG_PAGES}`);
    return connection(client, db, { lock, log: new LogSync(client) });
  } catch (error) {
    client?.close();
    lock?.close();
    throw translateSqliteError(error);
  }
}

/** Adds the SQL functions that migrations use: what only this program can derive from a row. */
function prepareMigrations(client: BetterSqlite3.Database): void {
  client.function('kind_text', { deterministic: true }, (kind) => kindText(String(kind)));
  client.function('fold_case', { deterministic: true }, (text) => foldCase(String(text)));
  client.function('runtime_fact', { deterministic: true }, (definition, fact) => {
    if (typeof definition !== 'string') return 0;
    return Number(runtimeFacts(JSON.parse(definition))[fact as keyof RuntimeFacts]);
  });
  client.function('image_repositories', { deterministic: true }, (definition) =>
    JSON.stringify(typeof definition === 'string' ? imageRepositories(JSON.parse(definition)) : []),
  );
  client.function('image_names', { deterministic: true }, (json) =>
    JSON.stringify(typeof json === 'string' ? imageNames(JSON.parse(json)) : []),
  );
  client.function('runtime_pins', { deterministic: true }, (definition) =>
    JSON.stringify(runtimePins(JSON.parse(String(definition)))),
  );
}

/** Opens a database file that another thread of this process has locked and migrated. */
export function openSecondConnection(file: string): Connection {
  const client = new Database(file, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
  prepareClient(client);
  return connection(client, drizzle(client), {});
}

/** Page cache of a connection in kibibytes. The system caches the file too, once for all connections. */
const CACHE_KIBIBYTES = 4_096;

function prepareClient(client: BetterSqlite3.Database): void {
  // NORMAL alone would lose acknowledged commits in a power cut: see log-sync.ts.
  client.pragma('synchronous = FULL');
  client.pragma('foreign_keys = ON');
  client.function('text_digest', { deterministic: true }, (text) => sha256(String(text)));
  client.pragma('temp_store = MEMORY');
  client.pragma(`cache_size = -${CACHE_KIBIBYTES}`);
}

/** Opens a read-only connection for searches, with a larger page cache: they read much of the file. */
export function openReadConnection(file: string): ReadableDatabase & { close(): void } {
  const client = new Database(file, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
  client.pragma('temp_store = MEMORY');
  return { client, read: readTransactions(client), close: () => client.close() };
}

function connection(
  client: BetterSqlite3.Database,
  db: BetterSQLite3Database,
  { lock, log }: { lock?: BetterSqlite3.Database; log?: LogSync },
): Connection {
  const identity = fileIdentity(client);
  client.pragma(`busy_timeout = ${WRITE_BUSY_TIMEOUT_MS}`);
  let committed: () => void = () => undefined;
  let pause: Promise<unknown> | undefined;
  return withSql<Omit<Connection, 'sql'>>({
    client,
    db,
    write: writeTogether(client, { log, pause: () => pause, committed: () => committed() }),
    onCommit: (callback) => {
      committed = callback;
    },
    async pauseWrites(work) {
      while (pause !== undefined) await pause;
      const running = work();
      pause = running
        .catch(() => undefined)
        .finally(() => {
          pause = undefined;
        });
      return running;
    },
    read: readTransactions(client),
    durable: async () => log?.durable(),
    check: async () => {
      await whenFree(CHECK_PATIENCE_MS, () => {
        if (fileIdentity(client) !== identity) {
          throw new KrmhubError('unavailable', `the database file ${client.name} was removed or replaced`, {
            hint: 'Restore the file, then restart the registry.',
          });
        }
        // While writes are paused, another connection of this process writes.
        if (pause === undefined) client.pragma('user_version = 0');
      });
      await log?.sync();
    },
    close: () => {
      log?.close();
      client.close();
      lock?.close();
    },
  });
}

/** Runs reads, each on one state of the database. One wrapper for all: making one costs more than a small read. */
function readTransactions(client: BetterSqlite3.Database): Connection['read'] {
  const transaction = client.transaction((work: () => unknown) => work());
  return <Result>(work: () => Result) => attempt(() => transaction.deferred(work) as Result);
}

/**
 * Runs writes in one transaction, each of several in its own savepoint, so that one can fail without the others. One that
 * is alone needs no savepoint, in which a statement takes time in proportion to the pages that earlier ones changed: it
 * fails with its transaction.
 */
function writeTogether(
  client: BetterSqlite3.Database,
  {
    log,
    pause,
    committed,
  }: { log: LogSync | undefined; pause: () => Promise<unknown> | undefined; committed: () => void },
): Connection['write'] {
  const savepoint = client.transaction((work: () => unknown) => work());
  const transaction = client.transaction((writes: readonly PendingWrite<unknown>[]) => {
    const isAlone = writes.length === 1;
    return writes.map(({ work, resolve, reject }) => {
      try {
        const result = isAlone ? work() : savepoint(work);
        return () => resolve(result);
      } catch (error) {
        // Some errors, for example a full disk, roll back the whole transaction.
        if (isAlone || !client.inTransaction) throw error;
        return () => reject(translateSqliteError(error));
      }
    });
  });

  const writeLarge = (writes: readonly PendingWrite<unknown>[]) => {
    // The next commit that syncs the log syncs this one too.
    if (writes[0]!.isPart) client.pragma('synchronous = NORMAL');
    client.pragma(`wal_autocheckpoint = ${MAX_LOG_PAGES_OF_LARGE}`);
    try {
      return transaction.immediate(writes);
    } finally {
      client.pragma('synchronous = FULL');
      client.pragma(`wal_autocheckpoint = ${USUAL_LOG_PAGES}`);
    }
  };

  return writeQueue<unknown>(MAX_WRITES_TOGETHER, async (writes) => {
    await log?.recover();
    const write = () => ({
      settled: writes[0]!.isLarge && log === undefined ? writeLarge(writes) : transaction.immediate(writes),
      // At once: a read after the commit must find a sync to wait for.
      synced: log?.sync(),
    });
    // Writes that arrived before a pause, or wait for a lock, wait too. Each attempt would block the thread.
    const { settled, synced } = await whenFree(WRITE_PATIENCE_MS, write, async () => {
      while (pause() !== undefined) await pause();
    });
    committed();
    await synced;
    return settled;
  }) as Connection['write'];
}

/**
 * Runs database work, and retries while the database is locked; `ready` resolves before each attempt. Rejects with
 * `unavailable` after the time.
 */
async function whenFree<Result>(
  milliseconds: number,
  work: () => Result,
  ready: () => Promise<void> = async () => undefined,
): Promise<Result> {
  await ready();
  const until = performance.now() + milliseconds;
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || performance.now() > until) throw translateSqliteError(error);
    }
    await setTimeout(WRITE_RETRY_MS);
    await ready();
  }
}

/**
 * Locks the file for this process with SQLite's own lock, on an empty database next to it. The lock ends with the
 * process. Other programs, such as the `sqlite3` shell, can still open the database itself.
 */
export function lockFile(file: string): BetterSqlite3.Database {
  let lock: BetterSqlite3.Database | undefined;
  try {
    lock = new Database(`${file}.lock`, { timeout: 0 });
    lock.exec('BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock?.close();
    if (!(error instanceof Database.SqliteError)) {
      // The driver throws a TypeError where the folder does not exist.
      throw new KrmhubError('unavailable', `cannot open the database ${file}: its folder is missing`, {
        cause: error,
      });
    }
    if (!error.code.startsWith('SQLITE_BUSY')) throw translateSqliteError(error);
    throw new KrmhubError('unavailable', `another process uses the database ${file}`, {
      hint: 'Stop that process, or use another data folder.',
      cause: error,
    });
  }
}

/** Rejects a database of another program, before anything is changed in it. Returns whether it has tables. */
export function refuseForeignTables(client: BetterSqlite3.Database, file: string): boolean {
  const tables = client
    .prepare<[], string>(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'sqlite_*'`)
    .pluck()
    .all();
  if (tables.length === 0) return false;
  if (tables.includes('__drizzle_migrations')) return true;
  throw foreignDatabase(file, 'it has no tables of a registry');
}

function foreignDatabase(file: string, reason: string): KrmhubError {
  return new KrmhubError('unavailable', `the database ${file} is of another program: ${reason}`, {
    hint: 'Nothing was changed. Set the data folder of a registry with --data or KRMHUB_DATA.',
  });
}

/** Rejects a database with unknown migrations: a newer program made them, and this one could damage its tables. */
export function refuseUnknownMigrations(client: BetterSqlite3.Database, file: string): void {
  const table = client
    .prepare(`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = '__drizzle_migrations'`)
    .get();
  if (table === undefined) return;
  const applied = client.prepare('SELECT hash FROM __drizzle_migrations').pluck().all() as string[];
  const known = new Set(readMigrationFiles({ migrationsFolder: MIGRATIONS_FOLDER }).map(({ hash }) => hash));
  const unknown = applied.filter((hash) => !known.has(hash)).length;
  if (unknown === 0) return;
  if (unknown === applied.length) throw foreignDatabase(file, 'krmhub knows none of its migrations');
  throw new KrmhubError(
    'unavailable',
    `the database ${file} is newer than this version of krmhub: ${unknown} of ${applied.length} migrations are unknown`,
    { hint: 'Nothing was changed. Use the version of krmhub that last served it, or a later version.' },
  );
}

/** Returns the number of applied migrations; 0 for a file that does not exist. */
export function countMigrations(file: string): number {
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return 0;
  let client: BetterSqlite3.Database | undefined;
  try {
    client = new Database(file, { readonly: true, timeout: BUSY_TIMEOUT_MS });
    const table = client.prepare(`SELECT 1 FROM sqlite_schema WHERE name = '__drizzle_migrations'`).get();
    return table === undefined
      ? 0
      : client.prepare<[], number>('SELECT count(*) FROM __drizzle_migrations').pluck().get()!;
  } catch (error) {
    throw translateSqliteError(error);
  } finally {
    client?.close();
  }
}

function fileIdentity(client: BetterSqlite3.Database): string | undefined {
  if (client.memory) return undefined;
  const stat = statSync(client.name, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? 'gone' : `${stat.dev}:${stat.ino}`;
}
