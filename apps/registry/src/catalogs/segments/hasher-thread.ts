import type { Worker } from 'node:worker_threads';
import type { Log } from '../../log.js';
import { startWorker } from '../../workers/isolation/start-worker.js';
import { Thread } from '../../workers/isolation/thread.js';
import type { EndedHashes, HashedCatalog, Hashes } from './checkpoint-hasher.js';

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
    return {
      from,
      async add(step) {
        await thread.call('add', { catalog: name, step });
      },
      end: async () => (await thread.call('end', name)) as EndedHashes,
    };
  }

  /** Ends the thread. */
  close(): Promise<void> {
    return this.#thread.close();
  }
}
