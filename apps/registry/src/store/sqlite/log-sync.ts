import { close, fdatasync, open } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import type BetterSqlite3 from 'better-sqlite3';
import { isBusy, translateSyncError } from './errors.js';

const syncData: (descriptor: number) => Promise<void> = promisify(fdatasync);
const openFile = promisify(open);

/** Milliseconds for which moving the log into the database waits for readers. */
const PATIENCE_MS = 3_000;
/** Milliseconds between two attempts. */
const RETRY_MS = 10;

/**
 * Syncs the write-ahead log outside of the thread that commits. SQLite itself syncs it within COMMIT, which blocks the
 * main thread for as long as the disk takes. Frames of the log are chained by checksums, so after a power cut SQLite
 * recovers all commits up to some point: a commit is durable as soon as a sync that began after it is done.
 *
 * After a failed sync, nobody knows which frames are on the disk, and another sync would not tell. All frames are
 * moved into the database then, and the log begins again. No write is accepted until that succeeds.
 */
export class LogSync {
  readonly #client: BetterSqlite3.Database;
  readonly #syncFile: (descriptor: number) => Promise<void>;
  readonly #patience: number;
  #descriptor: Promise<number> | undefined;
  #failure: unknown;
  /** Never rejects. */
  #running: Promise<void> = Promise.resolve();

  constructor(client: BetterSqlite3.Database, { syncFile = syncData, patience = PATIENCE_MS } = {}) {
    this.#client = client;
    this.#syncFile = syncFile;
    this.#patience = patience;
  }

  /** Makes all commits so far durable. Rejects with `unavailable` or `storage-full`. */
  sync(): Promise<void> {
    const running = this.#sync();
    const before = this.#running;
    this.#running = running.catch(() => undefined).then(() => before);
    return running;
  }

  /** Resolves when all commits so far are durable, without a sync of its own. Rejects like `sync`. */
  async durable(): Promise<void> {
    await this.#running;
    await this.recover();
  }

  async #sync(): Promise<void> {
    try {
      await this.#syncFile(await this.#opened());
    } catch (error) {
      this.#failure = translateSyncError(error);
      await this.recover();
    }
  }

  /** Makes commits durable that an earlier sync did not. Rejects if they are not. */
  async recover(): Promise<void> {
    if (this.#failure === undefined) return;
    const until = performance.now() + this.#patience;
    while (!this.#moveIntoDatabase()) {
      if (performance.now() > until) throw this.#failure;
      await setTimeout(RETRY_MS);
    }
    this.#failure = undefined;
  }

  close(): void {
    this.#descriptor?.then((descriptor) => close(descriptor, () => undefined)).catch(() => undefined);
    this.#descriptor = undefined;
  }

  /** Returns false if a reader blocks it. */
  #moveIntoDatabase(): boolean {
    try {
      const [result] = this.#client.pragma('wal_checkpoint(TRUNCATE)') as [{ busy: number }];
      return result.busy === 0;
    } catch (error) {
      if (isBusy(error)) return false;
      throw this.#failure;
    }
  }

  /** The log stays the same file for as long as a connection is open. */
  async #opened(): Promise<number> {
    this.#descriptor ??= openFile(`${this.#client.name}-wal`, 'r+');
    try {
      return await this.#descriptor;
    } catch (error) {
      this.#descriptor = undefined;
      throw error;
    }
  }
}
