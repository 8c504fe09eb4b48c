import { parentPort, workerData } from 'node:worker_threads';
import { Database } from './driver.js';
import type { Erased, EraseInput } from './erase.js';

/** Rewrites the database that another thread of this process uses, posts the result, and ends. */
const { file, timeout, statements } = workerData as EraseInput;
const client = new Database(file, { timeout });
let erased: Erased;
try {
  for (const statement of statements) client.exec(statement);
  const [checkpoint] = client.pragma('wal_checkpoint(TRUNCATE)') as [{ busy: number }];
  erased = { busy: checkpoint.busy !== 0 };
} catch (error) {
  const { code, message } = error as Error & { code?: string };
  erased = { busy: false, failure: { code, message } };
} finally {
  client.close();
}
parentPort?.postMessage(erased);
