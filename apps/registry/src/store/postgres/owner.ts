import { setTimeout } from 'node:timers/promises';
import { KrmhubError } from '@krmhub/schema';
import pg from 'pg';
import type { Log } from '../../log.js';
import { translatePostgresError } from './errors.js';
import { clientConfig } from './pool.js';

/** The lock of the process that uses the database. */
const OWNER_LOCK = 0x6b726d6f;
/** Milliseconds between two attempts to take the lock again. */
const RETRY_MS = 1_000;

/**
 * Locks the database for this process: it caches what the database has. The lock ends with the connection, so it
 * is taken again after the server was restarted. Rejects with `unavailable` if another process has it.
 */
export async function holdDatabase(url: string, log: Log): Promise<{ release(): Promise<void> }> {
  const closing = new AbortController();
  let client = await lock(url);
  const hold = (held: pg.Client): void => {
    held.once('end', () => {
      if (!closing.signal.aborted) void again();
    });
  };
  const again = async (): Promise<void> => {
    log.warn('the connection that locks the database has ended');
    while (!closing.signal.aborted) {
      try {
        client = await lock(url);
        if (closing.signal.aborted) return await client.end();
        return hold(client);
      } catch (error) {
        log.error({ err: error }, 'cannot lock the database');
      }
      await setTimeout(RETRY_MS, undefined, { signal: closing.signal }).catch(() => undefined);
    }
  };
  hold(client);
  return {
    async release() {
      closing.abort();
      await client.end().catch(() => undefined);
    },
  };
}

async function lock(url: string): Promise<pg.Client> {
  let client: pg.Client | undefined;
  try {
    client = new pg.Client(clientConfig(url));
    client.on('error', () => undefined);
    await client.connect();
    const { rows } = await client.query<{ locked: boolean }>(
      `SELECT pg_try_advisory_lock(${OWNER_LOCK}) AS locked`,
    );
    if (rows[0]?.locked) return client;
    throw new KrmhubError('unavailable', 'another process uses the database', {
      hint: 'Stop that process, or use another database.',
    });
  } catch (error) {
    await client?.end().catch(() => undefined);
    throw translatePostgresError(error);
  }
}
