import type { Worker } from 'node:worker_threads';
import type { InvalidEntry, Refusal, RenderedEntry, UpstreamEntry } from '@krmhub/catalog';
import type { Digest } from '@krmhub/schema';
import { SERVER_LIMITS } from '../limits.js';
import { BoundedWorker, WorkerEnded } from '../threads/bounded-worker.js';
import { startWorker } from '../threads/start-worker.js';

export interface ReadInput {
  bytes: Uint8Array;
  /** What messages call it. */
  file: string;
  /** Entries whose rendered form is not wanted: it is stored already. */
  known: ReadonlySet<Digest>;
}

/** A catalog elsewhere as it was read, without what is known of it. */
export interface ReadCatalog {
  entries: Omit<UpstreamEntry, 'firstSeen'>[];
  /** Of the entries that were not known. */
  rendered: RenderedEntry[];
  invalid: InvalidEntry[];
  invalidEntries: number;
}

/** What the worker answers. */
export type ReadAnswer = ReadCatalog | { problem: string } | { failure: unknown };

/**
 * Reads catalogs that somebody else serves, one after the other in a thread of its own, in bounded time and memory. The
 * thread ends when nothing is left to be read: a great catalog takes much memory, and comes seldom.
 */
export class UpstreamReader {
  readonly #worker: BoundedWorker<ReadInput, ReadAnswer>;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #closed = false;

  constructor(options: { startWorker?: () => Worker; milliseconds?: number } = {}) {
    this.#worker = new BoundedWorker({
      startWorker: options.startWorker ?? startReadThread,
      milliseconds: options.milliseconds ?? SERVER_LIMITS.readMilliseconds,
    });
  }

  async read(input: ReadInput): Promise<ReadCatalog | { refused: Refusal }> {
    this.#waiting += 1;
    const answered = this.#last.then(() => this.#ask(input));
    this.#last = answered.catch(() => undefined);
    try {
      return await answered;
    } finally {
      this.#waiting -= 1;
      if (this.#waiting === 0) await this.#worker.end();
    }
  }

  /** What is being read, and what waits, is rejected. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#worker.end();
  }

  async #ask(input: ReadInput): Promise<ReadCatalog | { refused: Refusal }> {
    if (this.#closed) throw new Error('nothing is read any more');
    let answer: ReadAnswer;
    try {
      answer = await this.#worker.ask(input);
    } catch (error) {
      if (!(error instanceof WorkerEnded) || !error.exhausted) throw error;
      return refused('it takes too much time or memory to read');
    }
    if ('failure' in answer) throw answer.failure;
    return 'problem' in answer ? refused(answer.problem) : answer;
  }
}

function refused(message: string): { refused: Refusal } {
  return { refused: { problem: 'invalid-catalog', message } };
}

function startReadThread(): Worker {
  return startWorker('read-thread', {
    resourceLimits: { maxOldGenerationSizeMb: SERVER_LIMITS.maxReadMegabytes },
  });
}
