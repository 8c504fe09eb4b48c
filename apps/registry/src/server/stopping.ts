/** Functions to call on stop, in reverse order. */
export class Stopping {
  readonly #stops: (() => Promise<void>)[] = [];

  add(...stops: (() => Promise<void>)[]): void {
    this.#stops.push(...stops);
  }

  async stop(): Promise<void> {
    for (let stop = this.#stops.pop(); stop !== undefined; stop = this.#stops.pop()) await stop();
  }
}
