import type { Worker } from 'node:worker_threads';
import { startWorker } from '../../isolation/start-worker.js';
import { Thread } from '../../isolation/thread.js';
import type { Log } from '../../log.js';
import {
  type HashedCatalog,
  type HashedDocuments,
  type HashedRun,
  type Hashes,
  SYNTAXES,
} from './checkpoint-hasher.js';

/** Bytes that are sent to the thread together, and how often before it has hashed them. */
const STEP_BYTES = 1_048_576;
const MAX_WAITING = 4;

/**
 * Hashes catalogs in another thread, which starts with the first of them and has the checkpoints. If it ends, the
 * catalogs that it hashes are rejected with `unavailable`: their digests need what was added before.
 */
export class HasherThread {
  readonly #thread: Thread;

  constructor({ log, start = () => startWorker('hash-thread') }: { log: Log; start?: () => Worker }) {
    this.#thread = new Thread({ name: 'hash-thread', start, log });
  }

  async begin(catalog: HashedCatalog): Promise<Hashes> {
    const thread = this.#thread;
    const { name } = catalog.header;
    const from = (await thread.call('begin', catalog)) as Hashes['from'];
    const waiting = new Set<Promise<unknown>>();
    return {
      stepBytes: STEP_BYTES,
      from,
      async add(runs) {
        if (waiting.size >= MAX_WAITING) await Promise.race(waiting);
        const added = thread.call('add', { catalog: name, runs }, transferable(runs));
        // A failure stays, and the next step rejects with it.
        waiting.add(added);
        added.then(
          () => waiting.delete(added),
          () => undefined,
        );
      },
      async end() {
        await Promise.all(waiting);
        return (await thread.call('end', name)) as HashedDocuments;
      },
    };
  }

  /** Ends the thread. */
  close(): Promise<void> {
    return this.#thread.close();
  }
}

/** Returns the memory that has only one text, and so need not be copied. */
function transferable(runs: readonly HashedRun[]): ArrayBuffer[] {
  return runs.flatMap(({ texts }) =>
    SYNTAXES.flatMap((syntax) => {
      const { buffer, byteLength } = texts[syntax];
      return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength && byteLength > 0
        ? [buffer]
        : [];
    }),
  );
}
