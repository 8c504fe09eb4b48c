/** Moves the log of a database into it, which another thread writes. */

import { serveRole } from '../../workers/isolation/serve-role.js';
import { Database } from './driver.js';
import type { CheckpointRole } from './log-checkpoint.js';

/**
 * Milliseconds to wait for readers, for example a search, and for a checkpoint of another thread. Writes wait meanwhile;
 * the next attempt follows soon.
 */
const TIMEOUT_MS = 50;

await serveRole(open, { inBackground: false });

function open({ file }: { file: string }): CheckpointRole {
  const client = new Database(file, { fileMustExist: true, timeout: TIMEOUT_MS });
  // Syncs the log before it writes the database, and the database before the log can begin again.
  client.pragma('synchronous = FULL');
  return {
    passive: async () => client.pragma('wal_checkpoint(PASSIVE)'),
    restart: async () => client.pragma('wal_checkpoint(RESTART)'),
  };
}
