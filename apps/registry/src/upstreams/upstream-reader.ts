import { createRequire } from 'node:module';
import { deserialize, serialize } from 'node:v8';
import type { InvalidEntry, Refusal, RenderedEntry, UpstreamEntry } from '@krmhub/catalog';
import type { Digest } from '@krmhub/schema';
import { BoundedProcess, type ProcessBounds, ProcessEnded } from '../isolation/bounded-process.js';
import { SERVER_LIMITS } from '../limits.js';
import type { Log } from '../log.js';

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
export type ReadResult = ReadCatalog | { problem: string };

/**
 * Reads catalogs that somebody else serves, one after the other, in a process that is bounded in time and memory. One that
 * has read what is honest reads on; what is too much for it takes it down alone.
 */
export class UpstreamReader {
  readonly #module: string;
  readonly #bounds: ProcessBounds;
  readonly #idleMilliseconds: number;
  readonly #log: Pick<Log, 'error'> | undefined;
  readonly #closing = new AbortController();
  #last: Promise<unknown> = Promise.resolve();
  /** Waits for what is to be read next: starting one takes as long as reading does. */
  #idle: BoundedProcess | undefined;
  #idleTimer: NodeJS.Timeout | undefined;

  constructor(
    options: {
      module?: string;
      milliseconds?: number;
      megabytes?: number;
      idleMilliseconds?: number;
      log?: Pick<Log, 'error'>;
    } = {},
  ) {
    // A process is always run as it was built, wherever it is started from.
    this.#module = options.module ?? createRequire(import.meta.url).resolve('@krmhub/registry/read-process');
    const { milliseconds = SERVER_LIMITS.readMilliseconds, megabytes = SERVER_LIMITS.maxReadMegabytes } =
      options;
    this.#bounds = { milliseconds, megabytes };
    this.#idleMilliseconds = options.idleMilliseconds ?? SERVER_LIMITS.readerIdleMilliseconds;
    this.#log = options.log;
  }

  /** To be called when something may have to be read soon: starting a process takes as long as reading with it. */
  warm(): void {
    const warmed = this.#last.then(async () => {
      if (this.#idle !== undefined || this.#closing.signal.aborted) return;
      this.#keepIdle(await BoundedProcess.start(this.#module, this.#bounds));
    });
    // Who reads meets the same failure.
    this.#last = warmed.catch(() => undefined);
  }

  async read(input: ReadInput): Promise<ReadCatalog | { refused: Refusal }> {
    const answered = this.#last.then(() => this.#callProcess(input));
    this.#last = answered.catch(() => undefined);
    return answered;
  }

  /** What is being read, and what waits, is rejected. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#last;
    this.#takeIdleProcess()?.kill();
  }

  async #callProcess({ bytes, file, known }: ReadInput): Promise<ReadCatalog | { refused: Refusal }> {
    let output: Buffer;
    try {
      const { signal } = this.#closing;
      signal.throwIfAborted();
      const reading = this.#takeIdleProcess() ?? (await BoundedProcess.start(this.#module, this.#bounds));
      output = await reading.call(serialize({ bytes, file, known } satisfies ReadInput), {
        maxAnswerBytes: SERVER_LIMITS.maxReadResultBytes,
        signal,
      });
      this.#keepIdle(reading);
    } catch (error) {
      if (!(error instanceof ProcessEnded) || error.end === 'broken-off') throw error;
      if (error.end === 'exhausted')
        return refused('invalid-catalog', 'it takes too much time or memory to read');
      // Its entries are the ones that are missing: were this thrown, its catalog would wait for it for ever.
      this.#log?.error({ err: error, source: file }, 'the process that reads a source failed');
      return refused('internal', 'it cannot be read: the log of this registry says why');
    }
    const answer = deserialize(output) as ReadResult;
    return 'problem' in answer ? refused('invalid-catalog', answer.problem) : answer;
  }

  #takeIdleProcess(): BoundedProcess | undefined {
    clearTimeout(this.#idleTimer);
    const idle = this.#idle;
    this.#idle = undefined;
    if (idle === undefined || idle.isReusable) return idle;
    idle.kill();
    return undefined;
  }

  #keepIdle(reading: BoundedProcess): void {
    if (!reading.isReusable || this.#closing.signal.aborted) {
      reading.kill();
      return;
    }
    this.#idle = reading;
    this.#idleTimer = setTimeout(() => this.#takeIdleProcess()?.kill(), this.#idleMilliseconds);
    this.#idleTimer.unref();
  }
}

function refused(problem: Refusal['problem'], message: string): { refused: Refusal } {
  return { refused: { problem, message } };
}
