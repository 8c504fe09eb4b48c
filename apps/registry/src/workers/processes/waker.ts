/** Lets a loop rest until there is something to do. */
export class Waker {
  #woken = false;
  #end: () => void = () => undefined;

  readonly wake = (): void => {
    this.#woken = true;
    this.#end();
  };

  /** Whether the next rest ends at once. */
  get isWoken(): boolean {
    return this.#woken;
  }

  /** Waits for a time, which may be infinite, unless it is woken. Returns whether it was, since the last call. */
  async rest(milliseconds: number): Promise<boolean> {
    if (!this.#woken) {
      await new Promise<void>((resolve) => {
        const timer = Number.isFinite(milliseconds) ? setTimeout(resolve, milliseconds) : undefined;
        this.#end = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#end = () => undefined;
    }
    const woken = this.#woken;
    this.#woken = false;
    return woken;
  }
}
