import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { KrmhubError } from '@krmhub/schema';
import type { Connection } from './connection.js';
import { driverFile } from './driver.js';
import { translateSqliteError } from './errors.js';

/** Milliseconds for which a reader of another program is waited for. */
const READER_TIMEOUT_MS = 2_000;

const STATEMENTS = [
  // Words of deleted documents stay in the full-text index until its segments are merged.
  `INSERT INTO function_text (function_text) VALUES ('optimize')`,
  'VACUUM',
];

/** As text, because a thread is not started from TypeScript where the tests run the sources. */
const THREAD = `
const { parentPort, workerData } = require('node:worker_threads');
const { driver, file, timeout, statements } = workerData;
const client = new (require(driver))(file, { timeout });
try {
  for (const statement of statements) client.exec(statement);
  const [{ busy }] = client.pragma('wal_checkpoint(TRUNCATE)');
  parentPort.postMessage({ busy: busy !== 0 });
} catch ({ code, message }) {
  parentPort.postMessage({ code, message });
} finally {
  client.close();
}`;

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
  const { busy, code, message } = await pauseWrites(async () => {
    const workerData = {
      driver: driverFile,
      file: client.name,
      timeout: READER_TIMEOUT_MS,
      statements: STATEMENTS,
    };
    const [answer] = await once(new Worker(THREAD, { eval: true, workerData }), 'message');
    return answer as { busy?: boolean; code?: string; message?: string };
  });
  if (message !== undefined) throw translateSqliteError(Object.assign(new Error(message), { code }));
  if (busy === true) {
    throw new KrmhubError(
      'unavailable',
      'Another program reads the database, so its log cannot be emptied.',
      {
        hint: 'Close that program; what was taken down is erased at the next takedown or start.',
      },
    );
  }
}
