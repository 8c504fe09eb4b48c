import { deserialize, serialize } from 'node:v8';
import { SERVER_LIMITS } from '../limits.js';
import { BoundedProcess, type ProcessBounds } from './bounded-process.js';
import { builtEntry, type ProcessEntry } from './built-entry.js';

export interface WarmProcessOptions {
  entry: ProcessEntry;
  /** A module that runs in place of the entry. */
  module?: string | undefined;
  bounds: ProcessBounds;
  /** Bytes of one answer. */
  maxAnswerBytes: number;
  idleMilliseconds?: number | undefined;
}

/**
 * Answers calls one after the other in a bounded process. The process starts with the first call and stays for a while
 * after each, because starting one takes as long as most calls. A call that exhausts it ends it, and the next call
 * starts another.
 */
export class WarmProcess {
  readonly #module: string;
  readonly #bounds: ProcessBounds;
  readonly #maxAnswerBytes: number;
  readonly #idleMilliseconds: number;
  readonly #closing = new AbortController();
  #last: Promise<unknown> = Promise.resolve();
  #idle: BoundedProcess | undefined;
  #idleTimer: NodeJS.Timeout | undefined;

  constructor({ entry, module, bounds, maxAnswerBytes, idleMilliseconds }: WarmProcessOptions) {
    this.#module = module ?? builtEntry(entry);
    this.#bounds = bounds;
    this.#maxAnswerBytes = maxAnswerBytes;
    this.#idleMilliseconds = idleMilliseconds ?? SERVER_LIMITS.idleProcessMilliseconds;
  }

  /** Starts the process, so that a call that is about to come does not wait for it. */
  warm(): void {
    const warmed = this.#last.then(async () => {
      if (this.#idle !== undefined || this.#closing.signal.aborted) return;
      this.#keepIdle(await BoundedProcess.start(this.#module, this.#bounds));
    });
    // The call meets the same failure.
    this.#last = warmed.catch(() => undefined);
  }

  /** Rejects with `ProcessEnded` if the process ends without an answer, and with any error of starting one. */
  call(input: unknown): Promise<unknown> {
    const answered = this.#last.then(() => this.#callProcess(input));
    this.#last = answered.catch(() => undefined);
    return answered;
  }

  /** Rejects the call that runs and the calls that wait. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#last;
    this.#takeIdleProcess()?.kill();
  }

  async #callProcess(input: unknown): Promise<unknown> {
    const { signal } = this.#closing;
    signal.throwIfAborted();
    const running = this.#takeIdleProcess() ?? (await BoundedProcess.start(this.#module, this.#bounds));
    const answer = await running.call(serialize(input), { maxAnswerBytes: this.#maxAnswerBytes, signal });
    this.#keepIdle(running);
    return deserialize(answer);
  }

  #takeIdleProcess(): BoundedProcess | undefined {
    clearTimeout(this.#idleTimer);
    const idle = this.#idle;
    this.#idle = undefined;
    if (idle === undefined || idle.isReusable) return idle;
    idle.kill();
    return undefined;
  }

  #keepIdle(running: BoundedProcess): void {
    if (!running.isReusable || this.#closing.signal.aborted) {
      running.kill();
      return;
    }
    this.#idle = running;
    this.#idleTimer = setTimeout(() => this.#takeIdleProcess()?.kill(), this.#idleMilliseconds);
    this.#idleTimer.unref();
  }
}
