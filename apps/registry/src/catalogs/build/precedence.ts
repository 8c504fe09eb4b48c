import { setImmediate } from 'node:timers/promises';

/** Lets updates of catalogs go before first builds, which still get a quarter of the time. */
export class Precedence {
  readonly #updates = new Set<Promise<unknown>>();
  /** Until when first builds go on beside updates. */
  #until = 0;

  async update<Result>(work: () => Promise<Result>): Promise<Result> {
    const running = work();
    this.#updates.add(running);
    try {
      return await running;
    } finally {
      this.#updates.delete(running);
    }
  }

  /** Lets other work run, and waits for the updates that run now, unless it has just waited for others. */
  async giveWay(signal: AbortSignal): Promise<void> {
    await setImmediate();
    const started = performance.now();
    if (this.#updates.size === 0 || started < this.#until || signal.aborted) return;
    let stop: () => void = () => undefined;
    const stopped = new Promise<void>((resolve) => {
      stop = resolve;
      signal.addEventListener('abort', stop);
    });
    await Promise.race([Promise.allSettled(this.#updates), stopped]);
    signal.removeEventListener('abort', stop);
    const now = performance.now();
    this.#until = now + (now - started) / 3;
  }
}
