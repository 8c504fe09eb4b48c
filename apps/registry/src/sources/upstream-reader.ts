import { createRequire } from 'node:module';
import { deserialize, serialize } from 'node:v8';
import type { InvalidEntry, Refusal, RenderedEntry, UpstreamEntry } from '@krmhub/catalog';
import type { Digest } from '@krmhub/schema';
import { SERVER_LIMITS } from '../limits.js';
import type { Log } from '../log.js';
import { BoundedProcess, type ProcessBounds, ProcessEnded } from './bounded-process.js';

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

/** What the process answers. */
export type ReadAnswer = ReadCatalog | { problem: string };

/**
 * Reads catalogs that somebody else serves, one after the other, each in a process of its own, in bounded time and
 * memory.
 */
export class UpstreamReader {
  readonly #module: string;
  readonly #bounds: ProcessBounds;
  readonly #log: Pick<Log, 'error'> | undefined;
  readonly #closing = new AbortController();
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  /** The process of who is next: starting one takes as long as reading does, and can be done meanwhile. */
  #next: Promise<BoundedProcess> | undefined;

  constructor(
    options: { module?: string; milliseconds?: number; megabytes?: number; log?: Pick<Log, 'error'> } = {},
  ) {
    // A process is always run as it was built, wherever it is started from.
    this.#module = options.module ?? createRequire(import.meta.url).resolve('@krmhub/registry/read-process');
    const { milliseconds = SERVER_LIMITS.readMilliseconds, megabytes = SERVER_LIMITS.maxReadMegabytes } =
      options;
    this.#bounds = { milliseconds, megabytes };
    this.#log = options.log;
  }

  async read(input: ReadInput): Promise<ReadCatalog | { refused: Refusal }> {
    this.#waiting += 1;
    const answered = this.#last
      .then(() => this.#ask(input))
      .finally(() => {
        this.#waiting -= 1;
      });
    this.#last = answered.catch(() => undefined);
    return answered;
  }

  /** What is being read, and what waits, is rejected. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#last;
    (await this.#next?.catch(() => undefined))?.kill();
  }

  #start(): Promise<BoundedProcess> {
    const started = BoundedProcess.start(this.#module, this.#bounds);
    // Who takes it is told.
    started.catch(() => undefined);
    return started;
  }

  async #ask({ bytes, file, known }: ReadInput): Promise<ReadCatalog | { refused: Refusal }> {
    let output: Buffer;
    try {
      const { signal } = this.#closing;
      signal.throwIfAborted();
      const started = this.#next ?? this.#start();
      this.#next = undefined;
      const reading = await started;
      if (this.#waiting > 1 && !signal.aborted) this.#next = this.#start();
      output = await reading.answer(serialize({ bytes, file, known } satisfies ReadInput), {
        maxAnswerBytes: SERVER_LIMITS.maxReadAnswerBytes,
        signal,
      });
    } catch (error) {
      if (!(error instanceof ProcessEnded) || error.end === 'broken-off') throw error;
      if (error.end === 'exhausted')
        return refused('invalid-catalog', 'it takes too much time or memory to read');
      // Its entries are the ones that are missing: were this thrown, its catalog would wait for it for ever.
      this.#log?.error({ err: error, source: file }, 'the process that reads a source failed');
      return refused('internal', 'it cannot be read: the log of this registry says why');
    }
    const answer = deserialize(output) as ReadAnswer;
    return 'problem' in answer ? refused('invalid-catalog', answer.problem) : answer;
  }
}

function refused(problem: Refusal['problem'], message: string): { refused: Refusal } {
  return { refused: { problem, message } };
}
