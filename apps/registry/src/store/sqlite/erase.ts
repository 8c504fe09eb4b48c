import { once } from 'node:events';
import { KrmhubError } from '@krmhub/schema';
import { startWorker } from '../../workers/isolation/start-worker.js';
import { DELETE_UNUSED_FILES } from '../records/functions/release-files.js';
import { DELETE_UNUSED_SEGMENTS } from '../records/snapshots/segments.js';
import { TEXT_TABLES } from '../search/rows.js';
import type { Connection } from './connection.js';
import { translateSqliteError } from './errors.js';

/** Milliseconds to wait for a reader in another program. */
const READER_TIMEOUT_MS = 2_000;

/** A full-text index contains words of deleted documents until its segments are merged. */
export const WITHOUT_DELETED_TEXT = [
  ...Object.keys(TEXT_TABLES).map((table) => `INSERT INTO ${table} (${table}) VALUES ('optimize')`),
  'VACUUM',
];

const STATEMENTS = [
  // A rejected or interrupted build leaves unused entries.
  `DELETE FROM entry WHERE digest NOT IN (SELECT entry FROM catalog_function WHERE entry IS NOT NULL)
     AND digest NOT IN (SELECT definition FROM upstream_entry)`,
  DELETE_UNUSED_SEGMENTS,
  DELETE_UNUSED_FILES,
  ...WITHOUT_DELETED_TEXT,
];

export interface EraseInput {
  file: string;
  /** Milliseconds to wait for a lock. */
  timeout: number;
  statements: readonly string[];
}

export interface Erased {
  /** Whether a reader blocks erasing. */
  busy: boolean;
  failure?: { code: string | undefined; message: string };
}

/**
 * Rewrites the database file, so that no deleted data is left in it or in its log. SQLite's secure_delete is not
 * enough: it leaves copies where rows moved between pages. This takes seconds for gigabytes, so a thread does it:
 * reads continue, and writes wait.
 */
export async function erase({ client, pauseWrites }: Connection): Promise<void> {
  if (client.memory) {
    for (const statement of STATEMENTS) client.exec(statement);
    return;
  }
  const { busy, failure } = await pauseWrites(() => rewriteDatabase(client.name, STATEMENTS));
  if (failure !== undefined) {
    throw translateSqliteError(Object.assign(new Error(failure.message), { code: failure.code }));
  }
  if (busy) {
    throw new KrmhubError(
      'unavailable',
      'cannot truncate the database log: another program is reading the database',
      {
        hint: 'Close that program. The next takedown or start deletes the data.',
      },
    );
  }
}

/** Runs statements on a database file in a thread, and then truncates its log. Nothing else may write meanwhile. */
export async function rewriteDatabase(file: string, statements: readonly string[]): Promise<Erased> {
  const input: EraseInput = { file, timeout: READER_TIMEOUT_MS, statements };
  const [erased] = (await once(startWorker('erase-thread', { workerData: input }), 'message')) as [Erased];
  return erased;
}
