import type { SyntheticRelease } from './synthetic/definitions.js';

/** Queries and names to request from a filled registry. */
export interface Corpus {
  /** Words that occur in one to three descriptions. */
  rareWords: string[];
  /** The words that occur in most descriptions. */
  commonWords: string[];
  tags: string[];
  /** Kinds that occur in many groups. */
  kinds: string[];
  /** Groups, the largest first. */
  groups: string[];
  /** Functions from all over the registry. */
  names: { group: string; kind: string }[];
}

/** Counts the generated words, kinds and groups, so that queries can be chosen by their number of results. */
export class CorpusCounter {
  readonly #words = new Map<string, number>();
  readonly #tags = new Map<string, number>();
  readonly #kinds = new Map<string, number>();
  readonly #groups = new Map<string, number>();
  readonly #names: { group: string; kind: string }[] = [];

  add({ group, kind, description, tags }: SyntheticRelease): void {
    for (const word of new Set(description.toLowerCase().match(/[a-z]+/g))) increment(this.#words, word);
    for (const tag of tags) increment(this.#tags, tag);
    increment(this.#kinds, kind);
    increment(this.#groups, group);
    this.#names.push({ group, kind });
  }

  result(): Corpus {
    const words = byFrequency(this.#words);
    const rare = words.filter(([word, count]) => count <= 3 && word.length >= 6).map(([word]) => word);
    return {
      rareWords: spreadOver(rare, 50),
      // No one searches for the most frequent words: articles and prepositions.
      commonWords: words
        .filter(([word]) => word.length >= 5)
        .slice(0, 20)
        .map(([word]) => word),
      tags: byFrequency(this.#tags)
        .slice(0, 40)
        .map(([tag]) => tag),
      kinds: byFrequency(this.#kinds)
        .slice(0, 40)
        .map(([kind]) => kind),
      groups: byFrequency(this.#groups)
        .slice(0, 40)
        .map(([group]) => group),
      names: spreadOver(this.#names, 500),
    };
  }
}

function increment(counts: Map<string, number>, value: string): void {
  counts.set(value, (counts.get(value) ?? 0) + 1);
}

function byFrequency(counts: ReadonlyMap<string, number>): [string, number][] {
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

function spreadOver<Item>(items: readonly Item[], count: number): Item[] {
  const step = Math.max(1, items.length / count);
  return Array.from({ length: Math.min(count, items.length) }, (_, at) => items[Math.floor(at * step)]!);
}
