/**
 * Work on the same thing one after the other, in the order in which it came. Other processes may change
 * the thing meanwhile, so this only spares planning what somebody next door is about to change.
 */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  async take<T>(thing: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(thing) ?? Promise.resolve();
    const mine = before.then(work, work);
    this.#last.set(thing, mine);
    try {
      return await mine;
    } finally {
      if (this.#last.get(thing) === mine) this.#last.delete(thing);
    }
  }
}
