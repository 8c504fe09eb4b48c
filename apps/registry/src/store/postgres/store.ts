/**
 * The store of records in PostgreSQL 14 or later.
 *
 * Work is the same as in SQLite; search is an index file of each process, which follows the database.
 *
 * @module
 */

import type { NameFinder, SearchStore } from '@krmhub/catalog';
import type pg from 'pg';
import { DELETE_UNUSED_FILES } from '../records/functions/release-files.js';
import { recordRows } from '../records/record-rows.js';
import { DELETE_UNUSED_SEGMENTS } from '../records/snapshots/segments.js';
import type { RegistryStore } from '../registry-store.js';
import { followedIndex } from '../search/follow/followed-index.js';
import { translatePostgresError } from './errors.js';
import { PrimaryClient } from './hosts.js';
import { openPool, writerConfig } from './pool.js';
import { postgresSql } from './postgres-sql.js';
import { type CountStatements, Session } from './session.js';
import { beginWrite, requireProcess, type WritingProcess } from './write-locks.js';

/** Everything but search, and the database for it. */
export type RecordStore = Omit<RegistryStore, keyof SearchStore | keyof NameFinder>;

/** What no row names any more. A rejected or interrupted build leaves unused entries. */
const ERASE = [
  `DELETE FROM entry WHERE NOT EXISTS (SELECT 1 FROM catalog_function WHERE catalog_function.entry = entry.digest)
     AND NOT EXISTS (SELECT 1 FROM upstream_entry WHERE upstream_entry.definition = entry.digest)`,
  DELETE_UNUSED_SEGMENTS,
  DELETE_UNUSED_FILES,
];

interface PostgresStoreOptions {
  /** The limit for this thread. */
  connections?: number;
  process?: WritingProcess;
  count?: CountStatements;
}

/** Opens a migrated database. */
export function openPostgresStore(
  url: string,
  { connections, process = () => undefined, count = () => undefined }: PostgresStoreOptions = {},
) {
  const pool = openPool(url, connections);
  const sql = postgresSql(pool, process, count);
  const store: RecordStore = {
    ...recordRows(sql, followedIndex, () => erase(url, process)),
    durable: () => sql.durable(),
    check: () => check(pool, count, process()),
    close: () => pool.end(),
  };
  return { store, sql, pool };
}

/** A number of a transaction is written to the server's log, also if nothing else is. */
async function check(pool: pg.Pool, count: CountStatements, process: string | undefined): Promise<void> {
  const required = process === undefined ? '' : `; ${requireProcess(process)}`;
  const { session } = await Session.open(pool, count, (opened) =>
    opened.query(`BEGIN READ WRITE${required}; SELECT pg_current_xact_id()`),
  );
  await session.commit().catch(async (error) => {
    await session.rollBack();
    throw error;
  });
}

/**
 * Deletes while nobody writes: a sync that has found an entry stored would lose it. The space of deleted rows is used
 * again; the server's files may have their bytes until then.
 */
async function erase(url: string, process: WritingProcess): Promise<void> {
  // It takes longer than the statements of a pool may.
  const client = new PrimaryClient(writerConfig(url));
  try {
    await client.connect();
    await client.query(beginWrite(process));
    for (const statement of ERASE) await client.query(statement);
    await client.query('COMMIT');
    await client.query('VACUUM');
  } catch (error) {
    throw translatePostgresError(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}
