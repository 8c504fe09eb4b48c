/** Turns in a row that may pass without a piece of work. */
const MAX_POSTPONED = 64;

/**
 * Runs pieces of synchronous work in order, at most one in each turn of the event loop. Node accepts one connection
 * per turn: if all requests of a turn did their work in it, new connections would wait for many times that work.
 */
export class Turns {
  readonly #waiting: (() => void)[] = [];
  #isRunning = false;
  #isPostponed = false;
  #postponed = 0;

  run<Result>(work: () => Result): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push(() => {
        try {
          resolve(work());
        } catch (error) {
          reject(error);
        }
      });
      if (this.#isRunning) return;
      this.#isRunning = true;
      setImmediate(() => this.#runNext());
    });
  }

  /**
   * Lets a turn pass without work. Call it for each new connection: others may wait behind it. The work still goes on
   * if connections never stop.
   */
  postpone(): void {
    this.#isPostponed = true;
  }

  #runNext(): void {
    if (this.#isPostponed && this.#postponed < MAX_POSTPONED) this.#postponed += 1;
    else {
      this.#postponed = 0;
      this.#waiting.shift()?.();
    }
    this.#isPostponed = false;
    if (this.#waiting.length === 0) this.#isRunning = false;
    else setImmediate(() => this.#runNext());
  }
}
