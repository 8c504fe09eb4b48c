import { deserialize, serialize } from 'node:v8';
import { SERVER_LIMITS } from '../../limits.js';
import { BoundedProcess, type ProcessBounds } from './bounded-process.js';
import { builtEntry, type ProcessEntry } from './built-entry.js';

export interface WarmProcessOptions {
  entry: ProcessEntry;
  /** Module that runs instead of the entry. */
  module?: string | undefined;
  bounds: ProcessBounds;
  /** Largest response. */
  maxResponseBytes: number;
  idleMilliseconds?: number | undefined;
}

/**
 * Runs calls one after the other in a bounded process. The process starts with the first call and stays for a while
 * after each, because starting takes as long as most calls. A call that exhausts the process ends it; the next call
 * starts another one.
 */
export class WarmProcess {
  readonly #module: string;
  readonly #bounds: ProcessBounds;
  readonly #maxResponseBytes: number;
  readonly #idleMilliseconds: number;
  readonly #closing = new AbortController();
  #last: Promise<unknown> = Promise.resolve();
  #idle: BoundedProcess | undefined;
  #idleTimer: NodeJS.Timeout | undefined;

  constructor({ entry, module, bounds, maxResponseBytes, idleMilliseconds }: WarmProcessOptions) {
    this.#module = module ?? builtEntry(entry);
    this.#bounds = bounds;
    this.#maxResponseBytes = maxResponseBytes;
    this.#idleMilliseconds = idleMilliseconds ?? SERVER_LIMITS.idleProcessMilliseconds;
  }

  /** Whether a process waits for a call. */
  get isStarted(): boolean {
    return this.#idle !== undefined;
  }

  /** Starts the process early, so that the next call does not wait for it. */
  warm(): void {
    const warmed = this.#last.then(async () => {
      if (this.#idle !== undefined || this.#closing.signal.aborted) return;
      this.#reuseProcess(await BoundedProcess.start(this.#module, this.#bounds));
    });
    // The next call reports the failure.
    this.#last = warmed.catch(() => undefined);
  }

  /** Rejects with `ProcessEnded` if the process ends without a response, and with any error of starting it or `onPart`. */
  call(input: unknown, onPart?: (part: unknown) => Promise<void>): Promise<unknown> {
    const response = this.#last.then(() => this.#callProcess(input, onPart));
    this.#last = response.catch(() => undefined);
    return response;
  }

  /** Rejects the running call and all waiting ones. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#last;
    this.#takeIdleProcess()?.kill();
  }

  async #callProcess(input: unknown, onPart?: (part: unknown) => Promise<void>): Promise<unknown> {
    const { signal } = this.#closing;
    signal.throwIfAborted();
    const running = this.#takeIdleProcess() ?? (await BoundedProcess.start(this.#module, this.#bounds));
    const response = await running.call(serialize(input), {
      maxResponseBytes: this.#maxResponseBytes,
      signal,
      onPart: async (part) => onPart?.(deserialize(part)),
    });
    this.#reuseProcess(running);
    return deserialize(response);
  }

  #takeIdleProcess(): BoundedProcess | undefined {
    clearTimeout(this.#idleTimer);
    const idle = this.#idle;
    this.#idle = undefined;
    if (idle === undefined || idle.isReusable) return idle;
    idle.kill();
    return undefined;
  }

  #reuseProcess(running: BoundedProcess): void {
    if (!running.isReusable || this.#closing.signal.aborted) {
      running.kill();
      return;
    }
    this.#idle = running;
    this.#idleTimer = setTimeout(() => this.#takeIdleProcess()?.kill(), this.#idleMilliseconds);
    this.#idleTimer.unref();
  }
}
