import type { InvalidEntry, Reading, Refusal, RenderedEntry, UpstreamEntry } from '@krmhub/catalog';
import type { CompletedEntry, Digest } from '@krmhub/schema';
import { ProcessEnded } from '../isolation/bounded-process.js';
import { WarmProcess } from '../isolation/warm-process.js';
import { SERVER_LIMITS } from '../limits.js';
import type { Log } from '../log.js';

export interface ReadInput {
  bytes: Uint8Array;
  /** Name in messages. */
  file: string;
  /** Entries that are stored already, so their rendered form is not returned. */
  known: ReadonlySet<Digest>;
  reading: Reading;
}

/** An upstream catalog as read, without the time at which its entries were first seen. */
export interface ReadCatalog {
  entries: Omit<UpstreamEntry, 'firstSeen'>[];
  /** Rendered entries that were not known. */
  rendered: RenderedEntry[];
  invalid: InvalidEntry[];
  invalidEntries: number;
  /** Absent for none. */
  completed?: CompletedEntry[];
  completedEntries?: number;
}

/** Response of the process. */
export type ReadResult = ReadCatalog | { problem: string };

/**
 * Reads upstream catalogs, one after the other, in a process with bounded time and memory. A catalog that exceeds the
 * bounds ends the process, and the next catalog is read in a new one.
 */
export class UpstreamReader {
  readonly #warmProcess: WarmProcess;
  readonly #log: Pick<Log, 'error'> | undefined;

  constructor(
    options: {
      module?: string;
      milliseconds?: number;
      megabytes?: number;
      idleMilliseconds?: number;
      log?: Pick<Log, 'error'>;
    } = {},
  ) {
    const { milliseconds = SERVER_LIMITS.readMilliseconds, megabytes = SERVER_LIMITS.maxReadMegabytes } =
      options;
    this.#warmProcess = new WarmProcess({
      entry: 'read-process',
      module: options.module,
      bounds: { milliseconds, megabytes },
      maxResponseBytes: SERVER_LIMITS.maxReadResultBytes,
      idleMilliseconds: options.idleMilliseconds,
    });
    this.#log = options.log;
  }

  /** Starts the process early: starting takes as long as reading. */
  warm(): void {
    this.#warmProcess.warm();
  }

  async read({ bytes, file, known, reading }: ReadInput): Promise<ReadCatalog | { refused: Refusal }> {
    try {
      const input: ReadInput = { bytes, file, known, reading };
      const answer = (await this.#warmProcess.call(input)) as ReadResult;
      return 'problem' in answer ? refused('invalid-catalog', answer.problem) : answer;
    } catch (error) {
      if (!(error instanceof ProcessEnded) || error.end === 'broken-off') throw error;
      if (error.end === 'exhausted')
        return refused('invalid-catalog', 'it takes too much time or memory to read');
      // Only its own entries are missing then. If this were thrown, the catalog would wait for this source forever.
      this.#log?.error({ err: error, source: file }, 'the process that reads upstream catalogs failed');
      return refused('internal', 'cannot read it; see the log of the registry');
    }
  }

  /** Rejects the running read and all waiting ones. */
  close(): Promise<void> {
    return this.#warmProcess.close();
  }
}

function refused(problem: Refusal['problem'], message: string): { refused: Refusal } {
  return { refused: { problem, message } };
}
