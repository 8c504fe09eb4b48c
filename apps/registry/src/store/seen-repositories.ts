import { setImmediate } from 'node:timers/promises';
import { readRights } from '@krmhub/catalog';
import type { ManifestReader } from '@krmhub/oci';
import { LRUCache } from 'lru-cache';
import type { Sight } from './sight.js';

/** Lists that are remembered: one for each set of rights. */
const MAX_LISTS = 16;
/** Names that are read, or decided, before other work runs. */
const BATCH = 1_000;
/** Milliseconds after which the names are read again, also if nothing shows that they changed. */
const MAX_AGE_MS = 60_000;

type NameReader = Pick<ManifestReader, 'repositories' | 'repositoriesVersion'>;

/**
 * The repositories that a reader may see, page by page. Each page is cut from a list of all of them: to leave out what is
 * hidden while a page is read takes time, and a client can begin a page after any name, so that it would find the hidden
 * names letter by letter.
 */
export class SeenRepositories {
  readonly #store: NameReader;
  #all: { version: string; until: number; names: Promise<string[]> } | undefined;
  /** Of the current names, by rules and rights. */
  readonly #lists = new LRUCache<string, Promise<string[]>>({ max: MAX_LISTS });

  constructor(store: NameReader) {
    this.#store = store;
  }

  /** Returns names after `after`, in code unit order. */
  async page(sight: Sight, after: string, limit: number): Promise<string[]> {
    const names = await this.#seenBy(sight);
    const start = countUpTo(names, after);
    return names.slice(start, start + limit);
  }

  async #seenBy(sight: Sight): Promise<string[]> {
    const version = await this.#store.repositoriesVersion();
    const now = performance.now();
    if (this.#all?.version !== version || this.#all.until <= now) {
      this.#lists.clear();
      this.#all = { version, until: now + MAX_AGE_MS, names: this.#readAll() };
    }
    const { names } = this.#all;
    const key = `${sight.rules.revision} ${readRights(sight.actor)}`;
    const list = this.#lists.get(key) ?? seenOf(names, sight);
    this.#lists.set(key, list);
    try {
      return await list;
    } catch (error) {
      // The next request tries again.
      if (this.#all?.names === names) this.#all = undefined;
      throw error;
    }
  }

  async #readAll(): Promise<string[]> {
    const names: string[] = [];
    for (;;) {
      const page = await this.#store.repositories(names.at(-1) ?? '', BATCH);
      names.push(...page);
      if (page.length < BATCH) return names;
      await setImmediate();
    }
  }
}

async function seenOf(reading: Promise<string[]>, sight: Sight): Promise<string[]> {
  const names = await reading;
  const seen: string[] = [];
  for (let at = 0; at < names.length; at += BATCH) {
    if (at > 0) await setImmediate();
    seen.push(...names.slice(at, at + BATCH).filter(sight.repository));
  }
  return seen;
}

/** Returns how many of the sorted names are not after a name. */
function countUpTo(names: readonly string[], name: string): number {
  let [low, high] = [0, names.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (names[middle]! <= name) low = middle + 1;
    else high = middle;
  }
  return low;
}
