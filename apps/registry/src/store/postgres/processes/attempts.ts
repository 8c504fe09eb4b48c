import { setTimeout } from 'node:timers/promises';
import type { Log } from '../../../log.js';

/** Milliseconds after which work that failed ends. */
const RETRY_MS = 500;

/** Work in the background, each once at a time. */
export class Attempts {
  readonly #log: Log;
  readonly #onEnd: () => void;
  readonly #running = new Map<string, Promise<void>>();
  #closed = false;

  constructor(log: Log, onEnd: () => void) {
    this.#log = log;
    this.#onEnd = onEnd;
  }

  /** Runs work, unless the same runs already. */
  start(name: string, work: () => Promise<unknown>): void {
    if (this.#closed || this.#running.has(name)) return;
    const attempt = work()
      .then(() => undefined)
      .catch(async (error) => {
        this.#log.warn({ err: error, work: name }, 'cannot change the processes');
        await setTimeout(RETRY_MS);
      })
      .finally(() => {
        this.#running.delete(name);
        this.#onEnd();
      });
    this.#running.set(name, attempt);
  }

  /** Starts nothing any more. */
  close(): void {
    this.#closed = true;
  }

  async ended(): Promise<void> {
    await Promise.all(this.#running.values());
  }
}
