/** Limits the time of a call, without the time during which the process waits for its caller. */
export class RunningTime {
  readonly #milliseconds: number;
  readonly #onEnd: () => void;
  #used = 0;
  #started: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #hasEnded = false;

  constructor(milliseconds: number, onEnd: () => void) {
    this.#milliseconds = milliseconds;
    this.#onEnd = onEnd;
    this.resume();
  }

  pause(): void {
    clearTimeout(this.#timer);
    if (this.#started !== undefined) this.#used += performance.now() - this.#started;
    this.#started = undefined;
  }

  /** Returns the milliseconds that were used. */
  end(): number {
    this.#hasEnded = true;
    this.pause();
    return this.#used;
  }

  resume(): void {
    if (this.#hasEnded) return;
    this.#started = performance.now();
    this.#timer = setTimeout(this.#onEnd, this.#milliseconds - this.#used);
  }
}
