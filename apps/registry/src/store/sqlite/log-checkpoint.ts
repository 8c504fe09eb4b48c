import type { Log, WarningLog } from '../../log.js';
import { inThread } from '../../workers/isolation/in-thread.js';
import type { Connection } from './connection.js';
import { prepared } from './prepared.js';

const LOG_PAGES = {
  /** Length of the log after which a checkpoint is due: about 300 publishes. */
  long: 8_000,
  /** Pages that are moved while writes wait. More are moved beside them first. */
  tail: 500,
  /** Growth of the log before the next attempt, if this one fails or a reader blocks it. */
  retry: 1_000,
  /** Length after which COMMIT moves the log itself, 256 MB: the thread fails, or does not keep up. */
  max: 64_000,
};

/** Pages of the log, and how many of them the database has. */
export interface LogPages {
  log: number;
  checkpointed: number;
}

/** Moves the log into the database. */
export interface CheckpointRole {
  /** Moves pages beside writers. */
  passive(): Promise<unknown>;
  /** Moves all pages while writers wait, so that the next write begins the log again unless a reader blocks it. */
  restart(): Promise<unknown>;
}

/** Another thread with the role. */
export interface CheckpointThread {
  call(method: keyof CheckpointRole): Promise<unknown>;
  close(): Promise<void>;
}

/**
 * Moves the write-ahead log into the database outside of the thread that commits. SQLite itself does so within COMMIT,
 * which blocks the main thread for as long as the disk takes to sync the log and the database.
 *
 * The log begins again only if all of it is in the database before a write. While publishes follow each other this
 * never happens by itself, so writes wait while the thread moves the pages that they added meanwhile. The thread syncs
 * the log before it writes the database, and the database before the log can begin again: see log-sync.ts.
 */
export class LogCheckpoint {
  readonly #connection: Connection;
  readonly #pages: { get(): LogPages | undefined };
  readonly #thread: CheckpointThread;
  readonly #log: WarningLog;
  readonly #limits: typeof LOG_PAGES;
  /** Length of the log for the next attempt. */
  #due: number;
  #running: Promise<void> | undefined;
  #isClosed = false;

  constructor(
    connection: Connection,
    {
      thread,
      log,
      limits = LOG_PAGES,
    }: { thread: CheckpointThread; log: WarningLog; limits?: typeof LOG_PAGES },
  ) {
    const { client } = connection;
    this.#connection = connection;
    this.#thread = thread;
    this.#log = log;
    this.#limits = limits;
    this.#due = limits.long;
    client.pragma(`wal_autocheckpoint = ${limits.max}`);
    this.#pages = prepared(() => client.prepare<[], LogPages>('PRAGMA wal_checkpoint(NOOP)'));
    connection.onCommit(() => this.#committed());
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
    await this.#thread.close();
  }

  #committed(): void {
    if (this.#running !== undefined || this.#isClosed) return;
    const { log, checkpointed } = this.#read();
    if (log < this.#limits.long) this.#due = this.#limits.long;
    // The next write begins again after a log that is in the database.
    if (log < this.#due || log === checkpointed) return;
    this.#running = this.#checkpoint().finally(() => {
      this.#due = this.#read().log + this.#limits.retry;
      this.#running = undefined;
    });
  }

  async #checkpoint(): Promise<void> {
    try {
      const { log, checkpointed } = this.#read();
      if (log - checkpointed > this.#limits.tail) await this.#thread.call('passive');
      await this.#connection.pauseWrites(() => this.#thread.call('restart'));
    } catch (err) {
      this.#log.warn({ err }, 'cannot move the log of the database into it');
    }
  }

  /** Never throws: what was committed before must not fail. */
  #read(): LogPages {
    const unknown = { log: 0, checkpointed: 0 };
    try {
      return this.#pages.get() ?? unknown;
    } catch (err) {
      this.#log.warn({ err }, 'cannot read the length of the log of the database');
      return unknown;
    }
  }
}

/** A worker thread, which starts with its first call. */
export function checkpointThread(file: string, log: Log): CheckpointThread {
  return inThread<CheckpointRole>('checkpoint-thread', { input: () => ({ file }), log });
}
