import { Random as SeededRandom } from '@krmhub/yaml/testing/random';

/** Random choices that a seed repeats. */
export class Random extends SeededRandom {
  /** Returns true once in so many times. */
  once(times: number): boolean {
    return this.below(times) === 0;
  }

  list<Item>(most: number, make: () => Item): Item[] {
    return Array.from({ length: this.below(most + 1) }, make);
  }
}
