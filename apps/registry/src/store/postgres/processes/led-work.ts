import { setTimeout } from 'node:timers/promises';
import type { Log } from '../../../log.js';
import type { LedWork } from '../../../workers/processes/processes.js';

/** Milliseconds after which work that could not start is started again. */
const RETRY_MS = 1_000;
/** Attempts to start work before another process is to lead. */
const MAX_STARTS = 3;

/** Starts and stops the work of the leader, one step after the other. */
export class LedWorks {
  readonly #log: Log;
  readonly #onFailure: () => void;
  readonly #works: LedWork[] = [];
  readonly #started: LedWork[] = [];
  #leads = false;
  #steps: Promise<unknown> = Promise.resolve();

  /** `onFailure` is called if work cannot start, for example because a disk is full: another process may be able to. */
  constructor(log: Log, onFailure: () => void) {
    this.#log = log;
    this.#onFailure = onFailure;
  }

  get leads(): boolean {
    return this.#leads;
  }

  /** Rejects if this process leads and the work cannot start. */
  async add(work: LedWork): Promise<void> {
    this.#works.push(work);
    if (this.#leads) await this.#step(() => this.#start(work));
  }

  /** Starts all work in the background. */
  lead(): void {
    this.#leads = true;
    for (const work of this.#works) {
      void this.#step(async () => {
        for (let starts = 1; this.#leads; starts += 1) {
          try {
            return await this.#start(work);
          } catch (error) {
            if (this.#leads) this.#log.error({ err: error }, 'cannot start the work of the leader');
            if (starts === MAX_STARTS) return this.#onFailure();
            await setTimeout(RETRY_MS);
          }
        }
      });
    }
  }

  /** Resolves when all work has stopped. */
  async follow(): Promise<void> {
    this.#leads = false;
    await this.#step(async () => {
      for (let work = this.#started.pop(); work !== undefined; work = this.#started.pop()) {
        await work.stop().catch((error) => {
          this.#log.error({ err: error }, 'cannot stop the work of the leader');
        });
      }
    });
  }

  async #start(work: LedWork): Promise<void> {
    if (!this.#leads || this.#started.includes(work)) return;
    this.#started.push(work);
    try {
      await work.start();
    } catch (error) {
      this.#started.splice(this.#started.indexOf(work), 1);
      await work.stop();
      throw error;
    }
  }

  #step(work: () => Promise<void>): Promise<void> {
    const step = this.#steps.then(work);
    this.#steps = step.catch(() => undefined);
    return step;
  }
}
