import { WarmProcess, type WarmProcessOptions } from './warm-process.js';

export interface ProcessPoolOptions extends WarmProcessOptions {
  /** Processes at the same time. */
  size: number;
  /** Size of the waiting inputs, in bytes, from which another process starts: less takes less time than its start. */
  startBytes: number;
  /** Total size of the inputs that are processed at the same time; a larger one is processed alone. */
  bytesAtOnce: number;
  /** Time after which processes other than the first end. */
  extraIdleMilliseconds: number;
}

interface WaitingCall {
  input: unknown;
  bytes: number;
  onPart: ((part: unknown) => Promise<void>) | undefined;
  resolve(response: Promise<unknown>): void;
}

/**
 * Runs calls in several bounded processes, each with one call at a time. A call that exhausts its process ends only
 * that process and that call. Calls start in their order.
 */
export class ProcessPool {
  readonly #free: Set<WarmProcess>;
  readonly #all: readonly WarmProcess[];
  readonly #startBytes: number;
  readonly #bytesAtOnce: number;
  readonly #waiting: WaitingCall[] = [];
  #runningBytes = 0;

  constructor({ size, startBytes, bytesAtOnce, extraIdleMilliseconds, ...options }: ProcessPoolOptions) {
    const extra = { ...options, idleMilliseconds: extraIdleMilliseconds };
    this.#all = Array.from({ length: size }, (_, at) => new WarmProcess(at === 0 ? options : extra));
    this.#free = new Set(this.#all);
    this.#startBytes = startBytes;
    this.#bytesAtOnce = bytesAtOnce;
  }

  /** Starts a process early, so that the next call does not wait for it. */
  warm(): void {
    this.#all[0]!.warm();
  }

  /** Rejects as `WarmProcess.call` does. `bytes` is the size of the input. */
  call(input: unknown, bytes: number, onPart?: (part: unknown) => Promise<void>): Promise<unknown> {
    return new Promise((resolve) => {
      this.#waiting.push({ input, bytes, onPart, resolve });
      this.#startWaiting();
    });
  }

  /** Rejects the running calls and all waiting ones. */
  async close(): Promise<void> {
    const closed = this.#all.map((one) => one.close());
    for (const { input, resolve } of this.#waiting.splice(0)) resolve(this.#all[0]!.call(input));
    await Promise.all(closed);
  }

  #startWaiting(): void {
    while (this.#waiting.length > 0) {
      const next = this.#take();
      if (next === undefined) return;
      const { input, bytes, onPart, resolve } = this.#waiting.shift()!;
      this.#runningBytes += bytes;
      const response = next.call(input, onPart);
      resolve(response);
      const free = () => {
        this.#runningBytes -= bytes;
        this.#free.add(next);
        this.#startWaiting();
      };
      response.then(free, free);
    }
  }

  /** Returns a free process for the next call. Another one starts only if much is waiting. */
  #take(): WarmProcess | undefined {
    const isAlone = this.#free.size === this.#all.length;
    if (!isAlone && this.#runningBytes + this.#waiting[0]!.bytes > this.#bytesAtOnce) return undefined;
    const waiting = this.#waiting.reduce((sum, { bytes }) => sum + bytes, 0);
    const mayStart = isAlone || waiting >= this.#startBytes;
    const free = this.#all.filter((one) => this.#free.has(one));
    const taken = free.find(({ isStarted }) => isStarted) ?? (mayStart ? free[0] : undefined);
    if (taken !== undefined) this.#free.delete(taken);
    return taken;
  }
}
