/** Numbers from a seed (mulberry32), so that every run measures the same documents. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 to 1, excluding 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[Math.floor(this.next() * items.length)]!;
  }

  /** Lower-case hexadecimal digits. */
  hex(digits: number): string {
    let text = '';
    while (text.length < digits) text += Math.floor(this.next() * 0x1_0000_0000).toString(16);
    return text.slice(0, digits);
  }
}

/** Picks items by Zipf's law: the frequency of the n-th is 1/n to the power of the exponent. */
export class Zipf<Item> {
  readonly items: readonly Item[];
  readonly #sums: Float64Array;

  constructor(items: readonly Item[], exponent: number) {
    this.items = items;
    this.#sums = new Float64Array(items.length);
    let sum = 0;
    for (let rank = 1; rank <= items.length; rank++) {
      sum += rank ** -exponent;
      this.#sums[rank - 1] = sum;
    }
  }

  pick(random: Random): Item {
    const wanted = random.next() * this.#sums.at(-1)!;
    let low = 0;
    let high = this.#sums.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#sums[middle]! > wanted) high = middle;
      else low = middle + 1;
    }
    return this.items[low]!;
  }
}
