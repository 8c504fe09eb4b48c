/**
 * Random numbers and mutations of texts for property tests, reproducible by a seed.
 *
 * @module
 */

/** Seeded random numbers, so that a failing property test is reproducible (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** Returns an integer from 0 (inclusive) to `limit` (exclusive). */
  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)]!;
  }

  /** Returns each item with this probability, in order. */
  some<Item>(items: readonly Item[], probability: number): Item[] {
    return items.filter(() => this.chance(probability));
  }

  shuffled<Item>(items: readonly Item[]): Item[] {
    const result = [...items];
    for (let index = result.length - 1; index > 0; index--) {
      const other = this.below(index + 1);
      [result[index], result[other]] = [result[other]!, result[index]!];
    }
    return result;
  }
}
