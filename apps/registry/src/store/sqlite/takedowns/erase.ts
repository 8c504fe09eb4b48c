import { once } from 'node:events';
import { KrmhubError } from '@krmhub/schema';
import { startWorker } from '../../../isolation/start-worker.js';
import type { Connection } from '../connection.js';
import { translateSqliteError } from '../errors.js';

/** Milliseconds for which a reader of another program is waited for. */
const READER_TIMEOUT_MS = 2_000;

const STATEMENTS = [
  // A cut that was refused or broke off has stored entries that nothing names.
  `DELETE FROM entry WHERE digest NOT IN (SELECT entry FROM catalog_function WHERE entry IS NOT NULL)
     AND digest NOT IN (SELECT definition FROM upstream_entry)`,
  // Words of deleted documents stay in the full-text index until its segments are merged.
  `INSERT INTO function_text (function_text) VALUES ('optimize')`,
  'VACUUM',
];

export interface EraseInput {
  file: string;
  /** Milliseconds for which a lock is waited for. */
  timeout: number;
  statements: readonly string[];
}

export interface Erased {
  /** Somebody reads what is to be erased. */
  busy: boolean;
  failure?: { code: string | undefined; message: string };
}

/**
 * Rewrites the database file, so that nothing deleted is left in it or beside it. SQLite's secure_delete would not do:
 * it leaves copies where rows were moved between pages. It takes seconds for gigabytes, so a thread does it: reading
 * goes on meanwhile, and writing waits.
 */
export async function erase({ client, pauseWrites }: Connection): Promise<void> {
  if (client.memory) {
    for (const statement of STATEMENTS) client.exec(statement);
    return;
  }
  const { busy, failure } = await pauseWrites(() => runThread(client.name));
  if (failure !== undefined) {
    throw translateSqliteError(Object.assign(new Error(failure.message), { code: failure.code }));
  }
  if (busy) {
    throw new KrmhubError(
      'unavailable',
      'cannot truncate the database log: another program reads the database',
      {
        hint: 'Close that program. The next takedown or start erases the data.',
      },
    );
  }
}

async function runThread(file: string): Promise<Erased> {
  const input: EraseInput = { file, timeout: READER_TIMEOUT_MS, statements: STATEMENTS };
  const [erased] = (await once(startWorker('erase-thread', { workerData: input }), 'message')) as [Erased];
  return erased;
}
