import type { InvalidEntry, Refusal, RenderedEntry, UpstreamEntry } from '@krmhub/catalog';
import type { Digest } from '@krmhub/schema';
import { ProcessEnded } from '../isolation/bounded-process.js';
import { WarmProcess } from '../isolation/warm-process.js';
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
 * Reads upstream catalogs, one after the other, in a process that is bounded in time and memory. A catalog that is too
 * much for the process ends it, and the next catalog is read in another.
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
      maxAnswerBytes: SERVER_LIMITS.maxReadResultBytes,
      idleMilliseconds: options.idleMilliseconds,
    });
    this.#log = options.log;
  }

  /** To be called when something may have to be read soon: starting a process takes as long as reading with it. */
  warm(): void {
    this.#warmProcess.warm();
  }

  async read({ bytes, file, known }: ReadInput): Promise<ReadCatalog | { refused: Refusal }> {
    try {
      const input: ReadInput = { bytes, file, known };
      const answer = (await this.#warmProcess.call(input)) as ReadResult;
      return 'problem' in answer ? refused('invalid-catalog', answer.problem) : answer;
    } catch (error) {
      if (!(error instanceof ProcessEnded) || error.end === 'broken-off') throw error;
      if (error.end === 'exhausted')
        return refused('invalid-catalog', 'reading it takes too much time or memory');
      // Its entries are the ones that are missing: were this thrown, its catalog would wait for it for ever.
      this.#log?.error({ err: error, source: file }, 'the process that reads upstream catalogs failed');
      return refused('internal', 'cannot read it; see the log of the registry');
    }
  }

  /** Rejects what is being read, and what waits. */
  close(): Promise<void> {
    return this.#warmProcess.close();
  }
}

function refused(problem: Refusal['problem'], message: string): { refused: Refusal } {
  return { refused: { problem, message } };
}
