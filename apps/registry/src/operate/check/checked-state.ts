import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { copyToFile } from '../../store/copy/copy-to-file.js';
import { COPIED_TABLES, PROFILE_TABLES } from '../../store/copy/tables.js';
import type { DatabasePlace } from '../../store/database-place.js';
import { openPool } from '../../store/postgres/pool.js';
import { postgresSql } from '../../store/postgres/postgres-sql.js';
import type { Work } from '../../store/sql/statement.js';
import { openDatabaseState } from '../../store/sqlite/state.js';
import type { CheckedDatabase, CheckInput } from './finding.js';

export interface CheckedState extends CheckedDatabase {
  close(): Promise<void>;
}

/**
 * Opens one state of a database for the checks. Of PostgreSQL, it is a copy in a temporary SQLite file: the copy reads
 * every row, and has the constraints of the original, so that a row that breaks one is noticed. The tools of PostgreSQL
 * check its pages and indexes.
 */
export async function openCheckedState(
  place: DatabasePlace,
  progress: CheckInput['progress'],
): Promise<CheckedState> {
  if ('file' in place) {
    const { close, ...state } = openDatabaseState(place.file);
    return { ...state, now: (work) => readNow(place.file, work), close: async () => close() };
  }
  const folder = await mkdtemp(path.join(tmpdir(), 'krmhub-fsck-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const file = path.join(folder, 'registry.db');
    await copyToFile(place.url, file, { tables: [...COPIED_TABLES, ...PROFILE_TABLES], progress });
    const { close, ...state } = openDatabaseState(file);
    const pool = openPool(place.url, 1);
    return {
      ...state,
      now: postgresSql(pool).read,
      close: async () => {
        close();
        await pool.end();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function readNow<Result>(file: string, work: () => Work<Result>): Promise<Result> {
  const { read, close } = openDatabaseState(file);
  try {
    return await read(work);
  } finally {
    close();
  }
}
