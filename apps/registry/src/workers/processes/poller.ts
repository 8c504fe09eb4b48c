import type { Log } from '../../log.js';

/** Milliseconds at most until a run that failed is repeated: what called for it does not call again. */
const RETRY_MS = 1_000;

export interface PollerOptions {
  /** What it does, in words that follow "cannot". */
  what: string;
  work: () => Promise<void>;
  /** Asked before each wait. */
  milliseconds: () => number;
  log: Log;
}

/** Repeats work: after a time, soon after a failure, and as soon as it can after `soon`. It runs once at a time. */
export class Poller {
  readonly #options: PollerOptions;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #stopped = false;
  /** Whether the last run failed: only the first failure of several is logged. */
  #isFailing = false;

  constructor(options: PollerOptions) {
    this.#options = options;
    this.#schedule();
  }

  soon(): void {
    this.now().catch(() => undefined);
  }

  /** Resolves after a whole run that began after the call. Rejects if that run fails. Callers share it. */
  now(): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    this.#next ??= this.#after(this.#running);
    return this.#next;
  }

  /** Resolves when nothing runs any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#next?.catch(() => undefined);
    await this.#running?.catch(() => undefined);
  }

  async #after(before: Promise<void> | undefined): Promise<void> {
    await before?.catch(() => undefined);
    this.#next = undefined;
    clearTimeout(this.#timer);
    this.#running = this.#run();
    try {
      await this.#running;
    } finally {
      this.#running = undefined;
      this.#schedule();
    }
  }

  async #run(): Promise<void> {
    const { what, work, log } = this.#options;
    try {
      await work();
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing && !this.#stopped) log.warn({ err: error }, `cannot ${what}; it is tried again`);
      this.#isFailing = true;
      throw error;
    }
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#stopped) return;
    const milliseconds = this.#options.milliseconds();
    this.#timer = setTimeout(
      () => this.soon(),
      this.#isFailing ? Math.min(milliseconds, RETRY_MS) : milliseconds,
    );
    this.#timer.unref();
  }
}
