import { createHash } from 'node:crypto';
import { rmSync, statSync } from 'node:fs';
import type BetterSqlite3 from 'better-sqlite3';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import type { Log } from '../../../log.js';
import { BUSY_TIMEOUT_MS, type Connection, type ReadableDatabase } from '../../sqlite/connection.js';
import { Database } from '../../sqlite/driver.js';
import { attempt, isDamaged, translateSqliteError } from '../../sqlite/errors.js';
import { type SyncSql, withSql } from '../../sqlite/sqlite-sql.js';
import { DOCUMENT_COLUMN_TYPES } from '../document-rows.js';
import { TEXT_TABLES } from '../rows.js';

/** Version of what is written to the tables. */
const CONTENT_VERSION = 4;

/**
 * Tables and views have the names and columns of the registry's database as far as searches read them, so that the same
 * searches run on both. Times are RFC 3339; flags are 0 or 1; lists and objects are JSON. Changes are in
 * `upstream_change` only: nothing else tells searches what to read again.
 */
const TABLES = `
  CREATE TABLE progress (
    -- Last event that the index includes, and what that event is.
    event INTEGER NOT NULL, mark TEXT NOT NULL,
    -- The last function of the registry that the first build has read; null once it has read all.
    fill_group TEXT, fill_kind TEXT,
    -- Whether functions were read 'before' all releases had their words, or 'after', or are read 'again' for them.
    words TEXT NOT NULL,
    -- Last takedown after which the file was rewritten.
    erased INTEGER NOT NULL);
  CREATE TABLE catalog (
    -- Last serial that the index includes.
    name TEXT PRIMARY KEY, serial INTEGER NOT NULL,
    -- 1 if the catalog is deleted, but not all of its entries are removed.
    deleted INTEGER,
    -- Serial that the index will include, and the last changed function that it has read for that.
    target INTEGER, after_group TEXT, after_kind TEXT) WITHOUT ROWID;
  CREATE TABLE indexed (
    id INTEGER PRIMARY KEY, group_name TEXT NOT NULL, kind TEXT NOT NULL, kind_folded TEXT NOT NULL,
    ${DOCUMENT_COLUMN_TYPES}, replacement TEXT, words INTEGER NOT NULL, entry TEXT,
    UNIQUE (group_name, kind_folded, entry));
  CREATE INDEX indexed_kind ON indexed (kind_folded);
  CREATE TABLE catalog_function (
    catalog TEXT NOT NULL, group_name TEXT NOT NULL, kind TEXT NOT NULL, entry TEXT NOT NULL, selection TEXT NOT NULL,
    from_serial INTEGER NOT NULL DEFAULT 0, to_serial INTEGER,
    PRIMARY KEY (catalog, group_name, kind)) WITHOUT ROWID;
  CREATE INDEX catalog_function_folded ON catalog_function (group_name, lower(kind));
  CREATE TABLE upstream_change (sequence INTEGER PRIMARY KEY AUTOINCREMENT, group_name TEXT NOT NULL, kind TEXT NOT NULL);
  CREATE VIRTUAL TABLE function_text USING fts5 (${TEXT_TABLES.function_text.join(', ')},
    content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2', prefix = '1 2 3');
  CREATE VIRTUAL TABLE function_text_whole USING fts5 (${TEXT_TABLES.function_text_whole.join(', ')},
    content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2');
  CREATE VIRTUAL TABLE function_text_words USING fts5vocab (function_text, row);
  CREATE VIEW function AS SELECT * FROM indexed WHERE release IS NOT NULL;
  CREATE VIEW upstream_function AS SELECT * FROM indexed WHERE release IS NULL;
  CREATE VIEW release AS SELECT id AS function_id, release,
    CASE WHEN replacement IS NOT NULL THEN json_object('replacement', json(replacement)) END AS deprecated FROM indexed;
  CREATE VIEW snapshot AS SELECT name AS catalog, serial FROM catalog;
  CREATE VIEW event AS SELECT event AS sequence, NULL AS type, NULL AS group_name, NULL AS kind FROM progress;`;

/** A file of another version, or with other tables, is built again. A positive 32-bit number, as SQLite stores it. */
export const INDEX_VERSION =
  createHash('sha256').update(`${CONTENT_VERSION} ${TABLES}`).digest().readUInt32BE() & 0x7fff_ffff;

/** Page cache in kibibytes. */
const CACHE_KIBIBYTES = 8_192;

export interface IndexFile extends ReadableDatabase {
  sql: SyncSql;
  /** Reports whether the file at the path is another one, or none. */
  isReplaced(): boolean;
  close(): void;
}

class OtherVersion extends Error {}

/**
 * Opens the file of a search index, or creates it. A file that is damaged or of another version is deleted first: the
 * index has nothing that the registry's database does not have.
 */
export function openIndexFile(file: string, log: Log): IndexFile {
  try {
    return open(file);
  } catch (error) {
    if (!(error instanceof OtherVersion) && !isDamaged(error)) throw translateSqliteError(error);
    const reason = error instanceof OtherVersion ? error.message : 'it is damaged';
    log.warn({ file }, `the search index is built again: ${reason}`);
  }
  deleteIndexFile(file);
  try {
    return open(file);
  } catch (error) {
    throw translateSqliteError(error);
  }
}

/** Opens a copy of an index. Throws an Error if it is damaged, or has other tables than an index of this version. */
export function openIndexCopy(file: string): IndexFile {
  const copy = open(file);
  const fresh = new Database(':memory:');
  try {
    fresh.exec(TABLES);
    if (schemaOf(copy.client) !== schemaOf(fresh)) throw new Error('it has other tables');
    return copy;
  } catch (error) {
    copy.close();
    throw error;
  } finally {
    fresh.close();
  }
}

function schemaOf(client: BetterSqlite3.Database): string {
  return JSON.stringify(
    client.prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name').all(),
  );
}

export function deleteIndexFile(file: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true });
}

function open(file: string): IndexFile {
  const client = new Database(file, { timeout: BUSY_TIMEOUT_MS });
  try {
    client.pragma('journal_mode = WAL');
    // After a power cut, the index is as it was some transactions ago, and continues there.
    client.pragma('synchronous = NORMAL');
    client.pragma('temp_store = MEMORY');
    client.pragma(`cache_size = -${CACHE_KIBIBYTES}`);
    client.transaction(() => prepareTables(client)).immediate();
    return indexFile(client, fileIdentity(file));
  } catch (error) {
    client.close();
    throw error;
  }
}

function prepareTables(client: BetterSqlite3.Database): void {
  if (client.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined) {
    client.exec(TABLES);
    client.pragma(`user_version = ${INDEX_VERSION}`);
    return;
  }
  const version = client.pragma('user_version', { simple: true });
  if (version !== INDEX_VERSION) {
    throw new OtherVersion(`it has version ${version}, and this version of krmhub uses ${INDEX_VERSION}`);
  }
}

function indexFile(client: BetterSqlite3.Database, identity: string | undefined): IndexFile {
  const transaction = client.transaction((work: () => unknown) => work());
  const read: Connection['read'] = <Result>(work: () => Result) =>
    attempt(() => transaction.deferred(work) as Result);
  const write: Connection['write'] = <Result>(work: () => Result) =>
    attempt(() => transaction.immediate(work) as Result);
  const { sql } = withSql({ client, db: drizzle(client), read, write, durable: async () => undefined });
  return {
    client,
    read,
    sql,
    isReplaced: () => fileIdentity(client.name) !== identity,
    close: () => client.close(),
  };
}

function fileIdentity(file: string): string | undefined {
  const stat = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stat && `${stat.dev}:${stat.ino}`;
}
