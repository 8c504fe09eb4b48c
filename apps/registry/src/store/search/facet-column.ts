import type { FacetCount } from '@krmhub/catalog';

/** Texts whose sets are remembered. More would take more memory than they save time. */
const MAX_TEXTS = 20_000;
/** Largest number of facet values in a response. */
const MAX_FACET_VALUES = 20;
const SHOWS_ALL = (_value: string): boolean => true;

/** What a search reads of a facet of every function. */
export interface CountedColumn {
  /** Set numbers by function id. Read it again after every change. */
  readonly numbers: Uint32Array;
  /** The number of different sets so far: the length of an array of counts. */
  readonly sets: number;
  /** Returns 1 for each set that has one of the values, or all of them; by set number. */
  matching(values: readonly string[], mode: 'any' | 'all'): Uint8Array;
  /** Returns the most frequent values of those that are shown, given how many functions have each set. */
  mostFrequent(countOfSet: Uint32Array, shows?: (value: string) => boolean): FacetCount[];
  /** Returns the most frequent values of fewer functions than there are sets: the cost follows these functions. */
  mostFrequentOf(ids: Uint32Array, shows?: (value: string) => boolean): FacetCount[];
}

/**
 * One facet of every function, in memory. Each function has the number of its set of values, so that a search only
 * counts numbers and reads values at the end.
 */
export class FacetColumn implements CountedColumn {
  readonly #values: string[] = [];
  readonly #valueNumbers = new Map<string, number>();
  /** Value numbers of every set, one set after the other, and the start of each set. */
  readonly #members: number[] = [];
  readonly #starts: number[] = [0];
  readonly #setNumbers = new Map<string, number>();
  /** Set numbers by value number. */
  readonly #setsWith: number[][] = [];
  /** Set numbers by the text that has the values. */
  readonly #textNumbers = new Map<string, number>();
  /** Whether each set so far but the first, without values, has only the value with the number before its own. */
  #areSingle = true;
  /** Set numbers by function id; 0 is the set without values. */
  #setOf = new Uint32Array(1);

  /** Value numbers by value in lower case, if case does not matter. A set has one spelling of a value. */
  readonly #spellings: Map<string, number[]> | undefined;
  /** Those of values with several spellings. */
  readonly #several = new Set<number[]>();

  constructor({ ignoresCase = false } = {}) {
    this.#spellings = ignoresCase ? new Map() : undefined;
    this.#setNumber([]);
  }

  get numbers(): Uint32Array {
    return this.#setOf;
  }

  get sets(): number {
    return this.#starts.length - 1;
  }

  put(id: number, values: readonly string[]): void {
    this.#put(id, this.#setNumber(values));
  }

  /** Puts the values that a text has. Many functions have the same text: `read` is called for the first. */
  putText(id: number, text: string, read: (text: string) => readonly string[]): void {
    let number = this.#textNumbers.get(text);
    if (number === undefined) {
      number = this.#setNumber(read(text));
      if (this.#textNumbers.size < MAX_TEXTS) this.#textNumbers.set(text, number);
    }
    this.#put(id, number);
  }

  #put(id: number, number: number): void {
    if (id >= this.#setOf.length) {
      const grown = new Uint32Array(Math.max(id + 1, this.#setOf.length * 2));
      grown.set(this.#setOf);
      this.#setOf = grown;
    }
    this.#setOf[id] = number;
  }

  matching(values: readonly string[], mode: 'any' | 'all'): Uint8Array {
    const found = new Uint8Array(this.sets);
    const wanted = values.map((value) => this.#numbersOf(value));
    const [first = [], ...others] = mode === 'any' ? [wanted.flat()] : wanted;
    for (const number of first.flatMap((value) => this.#setsWith[value] ?? [])) {
      const has = (value: number) => {
        const end = this.#starts[number + 1]!;
        for (let at = this.#starts[number]!; at < end; at += 1) if (this.#members[at] === value) return true;
        return false;
      };
      if (others.every((spellings) => spellings.some(has))) found[number] = 1;
    }
    return found;
  }

  values(): readonly string[] {
    return this.#values;
  }

  /** Returns 1 for each set that has a value with this start; by set number. */
  startingWith(start: string): Uint8Array {
    const found = new Uint8Array(this.sets);
    for (const [value, number] of this.#valueNumbers)
      if (value.startsWith(start)) for (const set of this.#setsWith[number] ?? []) found[set] = 1;
    return found;
  }

  /** Returns the numbers of the spellings of a value. */
  #numbersOf(value: string): readonly number[] {
    if (this.#spellings !== undefined) return this.#spellings.get(value.toLowerCase()) ?? [];
    const number = this.#valueNumbers.get(value);
    return number === undefined ? [] : [number];
  }

  mostFrequent(countOfSet: Uint32Array, shows = SHOWS_ALL): FacetCount[] {
    const counts = this.#areSingle ? countOfSet.subarray(1) : this.#countValues(countOfSet);
    this.#mergeSpellings(
      (number) => counts[number] ?? 0,
      (number, count) => {
        counts[number] = count;
      },
    );
    const best: FacetCount[] = [];
    let least = 1;
    for (let number = 0; number < counts.length; number += 1) {
      const count = counts[number]!;
      if (count < least || !shows(this.#values[number]!)) continue;
      insertByFrequency(best, { value: this.#values[number]!, count });
      if (best.length === MAX_FACET_VALUES) least = best.at(-1)!.count;
    }
    return best;
  }

  /** Gives the count of all spellings of a value to its most frequent one. */
  #mergeSpellings(countOf: (number: number) => number, put: (number: number, count: number) => void): void {
    for (const spellings of this.#several) {
      const [best = 0] = [...spellings].sort(
        (a, b) => countOf(b) - countOf(a) || (this.#values[a]! < this.#values[b]! ? -1 : 1),
      );
      const sum = spellings.reduce((all, number) => all + countOf(number), 0);
      for (const number of spellings) put(number, number === best ? sum : 0);
    }
  }

  mostFrequentOf(ids: Uint32Array, shows = SHOWS_ALL): FacetCount[] {
    const counts = new Map<number, number>();
    for (const id of ids) {
      const set = this.#setOf[id]!;
      const end = this.#starts[set + 1]!;
      for (let at = this.#starts[set]!; at < end; at += 1) {
        const number = this.#members[at]!;
        counts.set(number, (counts.get(number) ?? 0) + 1);
      }
    }
    this.#mergeSpellings(
      (number) => counts.get(number) ?? 0,
      (number, count) => counts.set(number, count),
    );
    const best: FacetCount[] = [];
    for (const [number, count] of counts)
      if (count > 0 && shows(this.#values[number]!))
        insertByFrequency(best, { value: this.#values[number]!, count });
    return best;
  }

  #countValues(countOfSet: Uint32Array): Uint32Array {
    const counts = new Uint32Array(this.#values.length);
    for (let number = 0; number < countOfSet.length; number += 1) {
      const count = countOfSet[number]!;
      if (count === 0) continue;
      const end = this.#starts[number + 1]!;
      for (let at = this.#starts[number]!; at < end; at += 1) counts[this.#members[at]!]! += count;
    }
    return counts;
  }

  #setNumber(values: readonly string[]): number {
    const set =
      values.length === 1
        ? [this.#valueNumber(values[0]!)]
        : [...this.#distinct(values)].sort((a, b) => a - b);
    const key = set.join();
    const known = this.#setNumbers.get(key);
    if (known !== undefined) return known;
    const number = this.sets;
    if (number > 0 && (set.length !== 1 || set[0] !== number - 1)) this.#areSingle = false;
    this.#members.push(...set);
    this.#starts.push(this.#members.length);
    this.#setNumbers.set(key, number);
    for (const value of set) {
      const sets = this.#setsWith[value];
      // `push` allocates for 17 elements, and most values are in one set only.
      if (sets === undefined) this.#setsWith[value] = [number];
      else sets.push(number);
    }
    return number;
  }

  /** Returns the numbers of values, of several spellings the first. */
  #distinct(values: readonly string[]): Set<number> {
    if (this.#spellings === undefined) return new Set(values.map((value) => this.#valueNumber(value)));
    const byFolded = new Map<string, string>();
    for (const value of values)
      if (!byFolded.has(value.toLowerCase())) byFolded.set(value.toLowerCase(), value);
    return new Set([...byFolded.values()].map((value) => this.#valueNumber(value)));
  }

  #valueNumber(value: string): number {
    const known = this.#valueNumbers.get(value);
    if (known !== undefined) return known;
    const number = this.#values.push(value) - 1;
    this.#valueNumbers.set(value, number);
    if (this.#spellings === undefined) return number;
    const folded = value.toLowerCase();
    const spellings = this.#spellings.get(folded);
    if (spellings === undefined) {
      this.#spellings.set(folded, [number]);
      return number;
    }
    spellings.push(number);
    this.#several.add(spellings);
    return number;
  }
}

/** Inserts a value by descending count, then by value, and keeps the most frequent ones. */
export function insertByFrequency(best: FacetCount[], one: FacetCount): void {
  const { value, count } = one;
  const isBefore = (other: FacetCount): boolean =>
    other.count > count || (other.count === count && other.value < value);
  if (best.length === MAX_FACET_VALUES) {
    if (isBefore(best.at(-1)!)) return;
    best.pop();
  }
  let at = best.length;
  while (at > 0 && !isBefore(best[at - 1]!)) at -= 1;
  best.splice(at, 0, one);
}
