import { availableParallelism } from 'node:os';
import type {
  InvalidEntry,
  Reading,
  ReadTotals,
  Refusal,
  RenderedEntry,
  UpstreamEntry,
  UpstreamEntryName,
} from '@krmhub/catalog';
import type { FormerRead } from '@krmhub/catalog/read-changes';
import type { CompletedEntry, Digest } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { SERVER_LIMITS } from '../limits.js';
import type { ErrorLog } from '../log.js';
import { ProcessEnded } from '../workers/isolation/bounded-process.js';
import { ProcessPool } from '../workers/isolation/process-pool.js';

/** Input of the process. */
export interface ReadInput {
  bytes: Uint8Array;
  /** Name in messages. */
  file: string;
  /** Entries that are stored already, so their rendered form is not returned. */
  known: ReadonlySet<Digest>;
  reading: Reading;
  /** The last good copy, if only changed entries need to be parsed. */
  former?: FormerRead;
}

/** Rendered entries that were not known, before the response. */
export type ReadPart = RenderedEntry[];

export interface ReadRequest extends Omit<ReadInput, 'known' | 'former'> {
  /** Called with rendered entries beyond those of the result. The next ones are read when it is done. */
  onRendered(rendered: readonly RenderedEntry[]): Promise<void>;
  /** Digest of the bytes. */
  digest: Digest;
  /** The catalog and its source. */
  source: string;
  /** The current entries of the source. */
  known: readonly UpstreamEntryName[];
  /** The last good copy, which has these entries. */
  copy?: { digest: Digest; bytes: Uint8Array } | undefined;
}

/** An upstream catalog as read, without the time at which its entries were first seen. */
export interface ReadCatalog {
  /** Without the unchanged ones. */
  entries: Omit<UpstreamEntry, 'firstSeen'>[];
  /** Known entries that were not parsed, because their text is unchanged. */
  unchanged?: UpstreamEntryName[];
  /** The last rendered entries that were not known. */
  rendered: RenderedEntry[];
  invalid: InvalidEntry[];
  invalidEntries: number;
  /** Absent for none. */
  completed?: CompletedEntry[];
  completedEntries?: number;
}

interface CountedCatalog extends ReadCatalog {
  totals: ReadTotals;
}

/** Response of the process. */
export type ReadResult = CountedCatalog | { problem: string };

/** Sources whose last read is known. With more, the first of them is read completely again. */
const MAX_REMEMBERED = 10_000;

/** Size of a last good copy, as a multiple of the size of the next, with which both are compared. */
const MAX_FORMER_SIZE = 2;

/**
 * Reads upstream catalogs in processes with bounded time and memory, each one catalog at a time. A catalog that exceeds
 * the bounds ends its process, and the next catalog is read in a new one. A catalog that it read before is compared
 * with the last good copy; after a restart or an update of krmhub, it is first read completely.
 */
export class UpstreamReader {
  readonly #processes: ProcessPool;
  readonly #log: ErrorLog | undefined;
  /** By source: the last copy, if all its entries were valid and none was completed. */
  readonly #lastReads = new Map<string, { digest: Digest; totals: ReadTotals }>();

  constructor(
    options: {
      module?: string;
      milliseconds?: number;
      megabytes?: number;
      idleMilliseconds?: number;
      processes?: number;
      log?: ErrorLog;
    } = {},
  ) {
    const { milliseconds = SERVER_LIMITS.readMilliseconds, megabytes = SERVER_LIMITS.maxReadMegabytes } =
      options;
    const { processes = readProcesses(availableParallelism()) } = options;
    this.#processes = new ProcessPool({
      size: processes,
      startBytes: SERVER_LIMITS.startReadBytes,
      bytesAtOnce: SERVER_LIMITS.maxReadBytesAtOnce,
      extraIdleMilliseconds: SERVER_LIMITS.idleReadMilliseconds,
      entry: 'read-process',
      module: options.module,
      bounds: { milliseconds, megabytes, reuseMegabytes: SERVER_LIMITS.reuseReadMegabytes },
      maxResponseBytes: SERVER_LIMITS.maxReadResultBytes,
      idleMilliseconds: options.idleMilliseconds,
    });
    this.#log = options.log;
  }

  /** Starts the process early: starting takes as long as reading. */
  warm(): void {
    this.#processes.warm();
  }

  async read(request: ReadRequest): Promise<ReadCatalog | { refused: Refusal }> {
    const { bytes, file, known, reading } = request;
    const former = this.#former(request);
    const stored = new Set(known.map(({ definition }) => definition));
    try {
      const input: ReadInput = {
        bytes,
        file,
        known: stored,
        reading,
        ...defined({ former }),
      };
      const onPart = (part: unknown) => request.onRendered(part as ReadPart);
      const answer = (await this.#processes.call(input, bytes.byteLength, onPart)) as ReadResult;
      if ('problem' in answer) return refused('invalid-catalog', answer.problem);
      this.#remember(request, answer);
      const { totals: _, ...read } = answer;
      return read;
    } catch (error) {
      if (!(error instanceof ProcessEnded) || error.end === 'broken-off') throw error;
      if (error.end === 'exhausted')
        return refused('invalid-catalog', 'it takes too much time or memory to read');
      // Only its own entries are missing then. If this were thrown, the catalog would wait for this source forever.
      this.#log?.error({ err: error, source: file }, 'the process that reads upstream catalogs failed');
      return refused('internal', 'cannot read it; see the log of the registry');
    }
  }

  #former({ source, bytes, copy, known, reading }: ReadRequest): FormerRead | undefined {
    const last = this.#lastReads.get(source);
    // It is in memory too, but the limit on what is read at the same time counts only the new bytes.
    if (copy !== undefined && copy.bytes.byteLength > MAX_FORMER_SIZE * bytes.byteLength) return undefined;
    if (copy === undefined || !isPlain(reading) || last?.digest !== copy.digest) return undefined;
    return { bytes: copy.bytes, entries: known, totals: last.totals };
  }

  #remember({ source, digest, reading }: ReadRequest, read: CountedCatalog): void {
    this.#lastReads.delete(source);
    if (!isPlain(reading) || read.invalidEntries > 0 || read.completedEntries !== undefined) return;
    this.#lastReads.set(source, { digest, totals: read.totals });
    const [first] = this.#lastReads.keys();
    if (this.#lastReads.size > MAX_REMEMBERED) this.#lastReads.delete(first!);
  }

  /** Rejects the running read and all waiting ones. */
  close(): Promise<void> {
    return this.#processes.close();
  }
}

/** The thread that stores what one process reads needs a processor too. */
function readProcesses(processors: number): number {
  return Math.max(1, Math.min(processors - 1, SERVER_LIMITS.maxRefreshes));
}

function isPlain(reading: Reading): boolean {
  return Object.keys(reading).length === 0;
}

function refused(problem: Refusal['problem'], message: string): { refused: Refusal } {
  return { refused: { problem, message } };
}
