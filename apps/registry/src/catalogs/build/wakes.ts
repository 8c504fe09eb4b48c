/** Puts a loop to sleep until there is work. */
export class Wakes {
  #woken = true;
  #wake: () => void = () => undefined;

  wake(): void {
    this.#woken = true;
    this.#wake();
  }

  /** Resolves after a time, which may be infinite, or after a wake-up since the last call. */
  async sleep(milliseconds: number): Promise<void> {
    if (!this.#woken) {
      await new Promise<void>((resolve) => {
        const timer = Number.isFinite(milliseconds) ? setTimeout(resolve, milliseconds) : undefined;
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#wake = () => undefined;
    }
    this.#woken = false;
  }
}
