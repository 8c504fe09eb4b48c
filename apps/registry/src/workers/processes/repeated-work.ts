import type { Log } from '../../log.js';

/** When work is done, and what the log says if it fails. */
interface Schedule {
  /** Milliseconds between the end of one run and the next. */
  pause: number;
  /** Whether the first run is at the start, or after a pause. */
  isFirstNow: boolean;
  log: Log;
  /** For the log. */
  failed: string;
}

/** Work that is done again and again, until it is stopped. A run that fails is logged, and the next one is as usual. */
export abstract class RepeatedWork {
  readonly #schedule: Schedule;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<unknown> = Promise.resolve();
  #stopped = false;

  protected constructor(schedule: Schedule) {
    this.#schedule = schedule;
  }

  /** Does the work once. Long work ends early if `isStopped`. */
  abstract run(): Promise<unknown>;

  protected get isStopped(): boolean {
    return this.#stopped;
  }

  start(): void {
    this.#stopped = false;
    if (this.#schedule.isFirstNow) this.#runNow();
    else this.#wait();
  }

  /** Resolves when nothing runs any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #wait(): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => this.#runNow(), this.#schedule.pause);
    this.#timer.unref();
  }

  #runNow(): void {
    const { log, failed } = this.#schedule;
    this.#running = this.run()
      .catch((error: unknown) => log.error({ err: error }, failed))
      .finally(() => this.#wait());
  }
}
