import { RwLock } from '../../workers/locks/rw-lock.js';

/** Lets callers pause work that stores bytes before the rows that name them. */
export class Pauses {
  /** Locked for reading while bytes are stored, for writing during a pause. */
  readonly #lock = new RwLock();
  #pausing = new AbortController();
  #resume: () => void = () => undefined;
  #count = 0;

  /** Pauses that were asked for: after another one, what was read before it may be gone. */
  get count(): number {
    return this.#count;
  }

  /** Runs work outside of pauses. The signal asks it to end early for one. */
  between<Result>(work: (pausing: AbortSignal) => Promise<Result>): Promise<Result> {
    return this.#lock.read(() => work(this.#pausing.signal));
  }

  /** Asks work to end early. */
  interrupt(): void {
    this.#pausing.abort();
    this.#pausing = new AbortController();
  }

  /** Resolves when no work runs. None starts until `resume`. */
  async pause(): Promise<void> {
    this.#count += 1;
    this.interrupt();
    await new Promise<void>((paused) => {
      void this.#lock.write(
        () =>
          new Promise<void>((resume) => {
            this.#resume = resume;
            paused();
          }),
      );
    });
  }

  resume(): void {
    this.#resume();
  }
}
