import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { KrmhubError } from '@krmhub/schema/error';
import type { DocumentFileList } from '../../documents/document-files.js';
import { builtEntry } from '../../io/built-entry.js';
import type { FileReport, LintSourceOptions } from './lint-source.js';

/** Lints many files in threads. A thread reads and lints a batch of files, then takes the next one. */

/** The options of a thread. */
export interface ThreadSetup extends LintSourceOptions {
  /** Send back the bytes of files with diagnostics. */
  keepBytes: boolean;
}

export interface Batch {
  number: number;
  files: DocumentFileList['files'];
}

export type BatchResult =
  | { number: number; reports: FileReport[] }
  | { number: number; error: { code: KrmhubError['code']; message: string; hint: string | undefined } };

/**
 * Below this number, threads take longer to load than they save. Processor time of one thread and of two, for files of
 * 2 to 7 KB: 0.85 s and 1.25 s for 100, 1.2 s and 1.9 s for 200, 3.0 s and 4.3 s for 1,000.
 */
const MIN_FILES = 200;
const FILES_PER_BATCH = 16;
/** Each uses up to 200 MB: the libraries, and the tree of a file of 4 MB. */
const MAX_THREADS = 8;
/** Batches that a thread can be ahead of the output; they wait in memory. */
const BATCHES_AHEAD = 4;

/** Returns the number of threads for a number of files; 0 to use none. */
export function threadsFor(files: number): number {
  if (files < MIN_FILES) return 0;
  const threads = Math.min(availableParallelism(), MAX_THREADS);
  return threads < 2 ? 0 : threads;
}

/** Yields the reports in the order of the files. */
export async function* lintInThreads(
  files: DocumentFileList['files'],
  setup: ThreadSetup,
  threads: number,
): AsyncGenerator<FileReport> {
  const pool = new LintThreads(files, setup, threads);
  try {
    for (let number = 0; number < pool.batches; number++) yield* await pool.reportsOf(number);
  } finally {
    await pool.end();
  }
}

class LintThreads {
  readonly batches: number;
  private readonly workers: Worker[];
  private readonly idle: Worker[];
  private readonly finished = new Map<number, FileReport[]>();
  private readonly ahead: number;
  private dispatched = 0;
  private current = 0;
  private failure: unknown;
  private readonly files: DocumentFileList['files'];
  private wake: () => void = () => undefined;

  constructor(files: DocumentFileList['files'], setup: ThreadSetup, threads: number) {
    this.files = files;
    this.batches = Math.ceil(files.length / FILES_PER_BATCH);
    this.ahead = threads * BATCHES_AHEAD;
    this.workers = Array.from({ length: Math.min(threads, this.batches) }, () => this.start(setup));
    this.idle = [...this.workers];
    this.dispatch();
  }

  private start(setup: ThreadSetup): Worker {
    const worker = new Worker(builtEntry('lint-thread'), { workerData: setup });
    worker.on('message', (result: BatchResult) => {
      if ('error' in result) {
        const { code, message, hint } = result.error;
        this.fail(new KrmhubError(code, message, hint === undefined ? {} : { hint }));
        return;
      }
      this.finished.set(result.number, result.reports);
      this.idle.push(worker);
      this.dispatch();
      this.wake();
    });
    worker.on('error', (error) => this.fail(error));
    worker.on('exit', () => this.fail(new Error('a lint thread exited too early')));
    return worker;
  }

  private fail(error: unknown): void {
    this.failure ??= error;
    this.wake();
  }

  private dispatch(): void {
    while (this.idle.length > 0 && this.dispatched < Math.min(this.batches, this.current + this.ahead)) {
      const number = this.dispatched++;
      const files = this.files.slice(number * FILES_PER_BATCH, (number + 1) * FILES_PER_BATCH);
      const batch: Batch = { number, files };
      this.idle.pop()!.postMessage(batch);
    }
  }

  /** Call with ascending numbers. */
  async reportsOf(number: number): Promise<FileReport[]> {
    this.current = number;
    this.dispatch();
    for (;;) {
      const reports = this.finished.get(number);
      if (reports !== undefined) {
        this.finished.delete(number);
        return reports;
      }
      if (this.failure !== undefined) throw this.failure;
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
  }

  async end(): Promise<void> {
    for (const worker of this.workers) worker.removeAllListeners();
    await Promise.all(this.workers.map((worker) => worker.terminate()));
  }
}
