import type { Log } from '../../log.js';
import { inThread } from '../../workers/isolation/in-thread.js';
import type { Thread } from '../../workers/isolation/thread.js';
import type { EndedHashes, HashedCatalog, HashedStep, Hashes } from './checkpoint-hasher.js';

/** What the thread does. */
export interface HashRole {
  begin(catalog: HashedCatalog): Promise<Hashes['from']>;
  add(added: { catalog: string; step: HashedStep }): Promise<void>;
  end(catalog: string): Promise<EndedHashes>;
}

/**
 * Hashes catalogs in another thread, which starts with the first of them and has the checkpoints. If it ends, the
 * catalogs that it hashes are rejected with `unavailable`: their digests need what was added before.
 */
export class HasherThread {
  readonly #thread: Thread<HashRole>;

  constructor({ log }: { log: Log }, thread = inThread<HashRole>('hash-thread', { input: () => ({}), log })) {
    this.#thread = thread;
  }

  async begin(catalog: HashedCatalog): Promise<Hashes> {
    const thread = this.#thread;
    const { name } = catalog.header;
    const from = await thread.call('begin', catalog);
    return {
      from,
      add: (step) => thread.call('add', { catalog: name, step }),
      end: () => thread.call('end', name),
    };
  }

  /** Ends the thread. */
  close(): Promise<void> {
    return this.#thread.close();
  }
}
