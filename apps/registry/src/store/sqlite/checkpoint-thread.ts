import { workerData } from 'node:worker_threads';
import { handleCalls } from '../../workers/isolation/handle-calls.js';
import { Database } from './driver.js';

/**
 * Milliseconds to wait for readers, for example a search, and for a checkpoint of another thread. Writes wait meanwhile;
 * the next attempt follows soon.
 */
const TIMEOUT_MS = 50;

/** Moves the log of a database into it, which another thread writes. */
const { file } = workerData as { file: string };
const client = new Database(file, { fileMustExist: true, timeout: TIMEOUT_MS });
// Syncs the log before it writes the database, and the database before the log can begin again.
client.pragma('synchronous = FULL');
handleCalls({
  passive: async () => client.pragma('wal_checkpoint(PASSIVE)'),
  restart: async () => client.pragma('wal_checkpoint(RESTART)'),
});
