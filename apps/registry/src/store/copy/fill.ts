/**
 * Copies the rows of a registry to another database, and compares the copy with the original.
 *
 * Backups, checks, and moves use it. The rows are read as of one moment and stored in one transaction, so a copy is
 * complete or empty. tables.ts says which tables no copy has, and why: for example, search is made again from the rows.
 *
 * @module
 */

import type { NewAuditRow } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import type pg from 'pg';
import { translatePostgresError } from '../postgres/errors.js';
import { preparedCall } from '../postgres/prepared.js';
import { BEGIN_WRITE } from '../postgres/write-locks.js';
import { appendAudit, auditChange } from '../records/audit/append-audit.js';
import type { IndexedDocument } from '../search/search-index.js';
import { sqliteIndex } from '../search/sqlite-index.js';
import { synchronizeSearch } from '../search/synchronize.js';
import type { Connection } from '../sqlite/connection.js';
import { translateSqliteError } from '../sqlite/errors.js';
import { copyRows, type RowReader } from './copy-rows.js';
import { continueSequences, postgresWriter } from './postgres-rows.js';
import { sqliteWriter } from './sqlite-rows.js';
import { COPIED_TABLES, type CopiedTable } from './tables.js';

export interface FillOptions {
  tables?: readonly CopiedTable[];
  progress?: (line: string) => Promise<void>;
  /** A row of the audit log that the copy has, and the original has not. */
  recorded?: NewAuditRow;
  /** Runs after the rows are verified, before they are stored. */
  beforeCommit?: () => Promise<void>;
}

/**
 * Copies all rows to a migrated SQLite database without rows, in one transaction, and verifies them. Then it makes the
 * search index.
 */
export async function fillSqlite(
  { client, sql }: Connection,
  from: RowReader,
  { tables = COPIED_TABLES, progress = async () => undefined, recorded, beforeCommit }: FillOptions = {},
): Promise<void> {
  try {
    client.exec('BEGIN IMMEDIATE');
    const used = tables.find(
      ({ name }) => client.prepare(`SELECT 1 FROM "${name}" LIMIT 1`).get() !== undefined,
    );
    if (used !== undefined) throw notEmpty(client.name, used);
    await copyRows(from, sqliteWriter(client), tables, progress);
    await progress('Indexing the functions for search');
    const functions = client.prepare<[number], SearchRow>(
      `SELECT id, group_name AS "group", kind, tags, description, publisher, release FROM function
       WHERE id > ? ORDER BY id LIMIT 500`,
    );
    for (let rows = functions.all(0); rows.length > 0; rows = functions.all(rows.at(-1)!.id)) {
      for (const row of rows) sql.run(sqliteIndex.put(row.id, { ...row, tags: JSON.parse(row.tags) }, true));
    }
    if (recorded !== undefined) sql.run(appendAudit(recorded));
    await beforeCommit?.();
    client.exec('COMMIT');
  } catch (error) {
    if (client.inTransaction) client.exec('ROLLBACK');
    throw translateSqliteError(error);
  }
  await synchronizeSearch(sql)();
}

type SearchRow = Omit<IndexedDocument, 'tags'> & {
  id: number;
  tags: string;
};

/** Copies all rows to a migrated PostgreSQL database without rows, in one transaction, and verifies them. */
export async function fillPostgres(
  client: pg.Client,
  from: RowReader,
  { tables = COPIED_TABLES, progress = async () => undefined, recorded, beforeCommit }: FillOptions = {},
): Promise<void> {
  try {
    await client.query(BEGIN_WRITE);
    await refuseRows(client);
    await copyRows(from, postgresWriter(client), tables, progress);
    await continueSequences(client);
    if (recorded !== undefined) await client.query(preparedCall(auditChange(recorded)).config);
    await beforeCommit?.();
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw translatePostgresError(error);
  }
  await progress('Collecting statistics for the planner of PostgreSQL');
  // The rows are stored. Without statistics, PostgreSQL collects them by itself later.
  await client.query('ANALYZE').catch(() => undefined);
}

/** Rejects with `usage` if a database has a registry. */
export async function refuseRows(client: pg.Client): Promise<void> {
  const used = await usedTable(client);
  if (used !== undefined) throw notEmpty(client.database ?? '', used);
}

/** Reports whether a database has a registry. */
export async function hasRows(client: pg.Client): Promise<boolean> {
  return (await usedTable(client)) !== undefined;
}

async function usedTable(client: pg.Client): Promise<CopiedTable | undefined> {
  for (const table of COPIED_TABLES) {
    const { rows } = await client.query(`SELECT 1 FROM "${table.name}" LIMIT 1`);
    if (rows.length > 0) return table;
  }
  return undefined;
}

function notEmpty(database: string, { name }: CopiedTable): KrmhubError {
  return new KrmhubError(
    'usage',
    `the database ${database} already contains a registry: its table ${name} has rows`,
    {
      hint: 'Nothing was changed. Use an empty database.',
    },
  );
}
