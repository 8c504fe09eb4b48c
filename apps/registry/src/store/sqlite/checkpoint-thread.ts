import { workerData } from 'node:worker_threads';
import { handleCalls } from '../../isolation/handle-calls.js';
import { Database } from './driver.js';

/** Milliseconds to wait for readers, for example a search, and for another checkpoint. Writes wait meanwhile. */
const TIMEOUT_MS = 500;

/** Moves the log of a database into it, which another thread writes. */
const { file } = workerData as { file: string };
const client = new Database(file, { fileMustExist: true, timeout: TIMEOUT_MS });
// Syncs the log before it writes the database, and the database before the log can begin again.
client.pragma('synchronous = FULL');
handleCalls({
  passive: async () => client.pragma('wal_checkpoint(PASSIVE)'),
  restart: async () => client.pragma('wal_checkpoint(RESTART)'),
});
