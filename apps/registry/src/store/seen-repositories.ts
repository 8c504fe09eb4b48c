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
/** Milliseconds after which they are read again because they changed, for clients that pushed none of them. */
const MAX_AGE_CHANGED_MS = 1_000;

type NameReader = Pick<ManifestReader, 'repositories' | 'repositoriesVersion'>;

interface AllNames {
  /** Of the reads since the start. */
  number: number;
  /** As `performance.now()` has it. */
  readAt: number;
  version: string;
  names: readonly string[];
  /** What is seen of them, by rules and rights. */
  lists: LRUCache<string, Promise<string[]>>;
}

/**
 * The repositories that a reader may see, page by page. Each page is cut from a list of all of them: to leave out what is
 * hidden while a page is read takes time, and a client can begin a page after any name, so that it would find the hidden
 * names letter by letter.
 *
 * One read of all names runs at a time, also while clients push. A client with a token may have pushed a repository, and
 * gets what there is when it asks.
 */
export class SeenRepositories {
  readonly #store: NameReader;
  #all: AllNames | undefined;
  #reading: Promise<void> | undefined;
  /** Reads that began. */
  #begun = 0;

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
    const { names, lists } = await this.#current(sight.actor.id !== undefined);
    const key = `${sight.rules.revision} ${readRights(sight.actor)}`;
    const list = lists.get(key) ?? seenOf(names, sight);
    lists.set(key, list);
    return list;
  }

  /** Returns all names. */
  async #current(mayHavePushed: boolean): Promise<AllNames> {
    const before = this.#begun;
    const version = await this.#store.repositoriesVersion();
    const isCurrent = ({ number, readAt, version: known }: AllNames) => {
      if (number > before) return true;
      const age = performance.now() - readAt;
      return known === version ? age < MAX_AGE_MS : !mayHavePushed && age < MAX_AGE_CHANGED_MS;
    };
    for (;;) {
      if (this.#all !== undefined && isCurrent(this.#all)) return this.#all;
      // A read that runs already can have passed over what is new.
      this.#reading ??= this.#read(version).finally(() => {
        this.#reading = undefined;
      });
      await this.#reading;
    }
  }

  async #read(version: string): Promise<void> {
    this.#begun += 1;
    const number = this.#begun;
    const names = await this.#readAll();
    const lists = new LRUCache<string, Promise<string[]>>({ max: MAX_LISTS });
    this.#all = { number, version, readAt: performance.now(), names, lists };
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

async function seenOf(names: readonly string[], sight: Sight): Promise<string[]> {
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
