import type { FacetColumn } from './facet-column.js';

/**
 * Several facets of every function as one number, in memory. Many functions have the same sets of values in all of
 * these facets, so that a search counts one number for each function, and then each different tuple of sets.
 */
export class FacetTuples<Facet extends string> {
  readonly facets: readonly Facet[];
  readonly #columns: Record<Facet, FacetColumn>;
  readonly #numbers = new Map<string, number>();
  /** Set numbers of every tuple, one tuple after the other. */
  readonly #sets: number[] = [];
  /** Tuple numbers by function id. */
  #tupleOf = new Uint32Array(1);

  constructor(facets: readonly Facet[], columns: Record<Facet, FacetColumn>) {
    this.facets = facets;
    this.#columns = columns;
  }

  /** Reads the sets of a function from the columns. Call it after their `put`. */
  put(id: number): void {
    if (id >= this.#tupleOf.length) {
      const grown = new Uint32Array(Math.max(id + 1, this.#tupleOf.length * 2));
      grown.set(this.#tupleOf);
      this.#tupleOf = grown;
    }
    const sets = this.facets.map((facet) => this.#columns[facet].numbers[id]!);
    const key = sets.join();
    let number = this.#numbers.get(key);
    if (number === undefined) {
      number = this.#numbers.size;
      this.#numbers.set(key, number);
      this.#sets.push(...sets);
    }
    this.#tupleOf[id] = number;
  }

  /** Adds the functions to the counts of the sets of each facet. */
  count(ids: Uint32Array, counts: ReadonlyMap<Facet, Uint32Array>): void {
    const wanted = this.facets.flatMap((facet, at) => {
      const ofFacet = counts.get(facet);
      return ofFacet === undefined ? [] : [{ at, ofFacet }];
    });
    const functions = new Uint32Array(this.#numbers.size);
    countNumbers(ids, this.#tupleOf, functions);
    const width = this.facets.length;
    for (const { at, ofFacet } of wanted) {
      for (let tuple = 0, set = at; tuple < functions.length; tuple += 1, set += width) {
        ofFacet[this.#sets[set]!]! += functions[tuple]!;
      }
    }
  }
}

/** Counts the number of each function. */
export function countNumbers(ids: Uint32Array, numberOf: Uint32Array, counts: Uint32Array): void {
  for (let at = 0; at < ids.length; at += 1) counts[numberOf[ids[at]!]!]! += 1;
}
