import type { FunctionName } from '@krmhub/schema';
import type { SqliteClient } from '../sqlite/connection.js';
import { prepared } from '../sqlite/prepared.js';
import { FINDABLE } from './document-rows.js';
import { TEXT_TABLES, type TextTable } from './rows.js';
import { quote, type TextQuery } from './text.js';

/**
 * Where the words of a query match, and how: the order of results by relevance. It depends on the function and the
 * query alone, so that pages fit together, whatever is published between them and whichever process serves them.
 * docs/use.md explains it to users.
 */
export const TIER = {
  /** The query is the kind of a function, or its name. */
  kind: 0,
  /** The kind begins with the query. */
  kindStart: 1,
  /** All words are words of the kind. */
  kindWords: 2,
  /** All words are beginnings, or plurals, of words of the kind. */
  kindBeginnings: 3,
  /** All words are words of the kind or tags. */
  tagWords: 4,
  tagBeginnings: 5,
  /** All words are words of any of these, the description, the group, or the publisher. */
  words: 6,
  beginnings: 7,
  /** All words are words of any of these, or of fields of the functionConfig. */
  fields: 8,
  /** The README has some of them. */
  readme: 9,
} as const;

export interface TextHits {
  /** Ids, ascending. */
  ids: Uint32Array;
  /** Returns a `TIER`: exact up to `exactTier`, and a later one for all others. */
  tier(id: number): number;
  /** The last exact tier; -1 at first. Often there are enough matches in kinds, so others need not be read. */
  exactTier(): number;
  /** Reads the next tiers. */
  readTiers(): void;
}

/** By id: 1 for each function that exists for the search; undefined if all do. */
export type Seen = Uint8Array | undefined;

/** Returns the ids that exist for a search. */
export function seenIds(ids: Uint32Array, seen: Seen): Uint32Array {
  return seen === undefined ? ids : ids.filter((id) => seen[id] === 1);
}

/** Columns of `function_text_whole` without those of READMEs. */
const BUT_README = `{${TEXT_TABLES.function_text_whole.filter((column) => column !== 'readme').join(' ')}}`;

/**
 * Finds functions in the full-text index. Call it in the transaction of the search, and `start` before. What it finds is
 * remembered for that search, because a search that finds nothing asks for its words several times.
 */
export function textHits({ client }: SqliteClient): {
  start: () => void;
  find: (text: TextQuery, seen: Seen, name?: FunctionName) => TextHits;
  /** Counts the functions with a word in what is not a README or a field. */
  count: (word: string, seen: Seen) => number;
} {
  let remembered = new Map<string, Uint32Array>();
  const idsOf = (table: TextTable) => {
    // One value for all ids: a row for each would cost more than finding it.
    const matching = prepared(() =>
      client
        .prepare<[string], Buffer | null>(
          `SELECT CAST(group_concat(rowid) AS BLOB) FROM ${table} WHERE ${table} MATCH ?`,
        )
        .pluck(),
    );
    return (expression: string): Uint32Array => {
      const key = `${table} ${expression}`;
      const known = remembered.get(key);
      if (known !== undefined) return known;
      const list = matching.get(expression);
      const ids = list == null ? NONE : readList(list);
      remembered.set(key, ids);
      return ids;
    };
  };
  const begunIds = idsOf('function_text');
  const wholeIds = idsOf('function_text_whole');
  const named = prepared(() =>
    client.prepare<[string], { id: number; group: string }>(
      `SELECT id, group_name AS "group" FROM ${FINDABLE} WHERE kind_folded = ?`,
    ),
  );

  const find = ({ begun, anywhere, each }: TextQuery, seen: Seen, name?: FunctionName): TextHits => {
    const inBegun = (expression: string) => seenIds(begunIds(expression), seen);
    const inWhole = (expression: string) => seenIds(wholeIds(expression), seen);
    const lists =
      begun === undefined ? [] : (each?.map((word) => inBegun(word.begun)) ?? [inBegun(begun.found)]);
    const ids =
      each === undefined
        ? union(lists[0] ?? NONE, anywhere === undefined ? NONE : inWhole(anywhere))
        : withMost(each.map((word, at) => union(lists[at]!, inWhole(word.anywhere))));
    const tiers = new Uint8Array((ids.at(-1) ?? 0) + 1).fill(TIER.readme);
    /** Improves tiers. */
    const put = (tier: number, found: Iterable<number>): void => {
      for (const id of found) if (id < tiers.length && tiers[id]! > tier) tiers[id] = tier;
    };
    const putNamed = (kind: string, group?: string): void => {
      const rows = named.all(kind).filter((row) => group === undefined || row.group === group);
      put(
        TIER.kind,
        rows.map(({ id }) => id),
      );
    };
    for (const list of lists) put(TIER.beginnings, list);
    const inText = (tier: number, columns: string, expression: keyof NonNullable<typeof begun>) => {
      if (begun !== undefined) put(tier, begunIds(`${columns}(${begun[expression]})`));
    };
    const stages: [exact: number, read: () => void][] = [
      [
        TIER.kindBeginnings,
        () => {
          for (const kind of begun?.kinds ?? []) putNamed(kind);
          if (name !== undefined) putNamed(name.kind.toLowerCase(), name.group);
          if (begun !== undefined) put(TIER.kindStart, begunIds(`{kind} : ${begun.start}`));
          inText(TIER.kindWords, '{kind} : ', 'whole');
          inText(TIER.kindBeginnings, '{kind} : ', 'found');
        },
      ],
      [
        TIER.tagBeginnings,
        () => {
          inText(TIER.tagWords, '{kind tags} : ', 'whole');
          inText(TIER.tagBeginnings, '{kind tags} : ', 'found');
        },
      ],
      [TIER.beginnings, () => inText(TIER.words, '', 'whole')],
      [
        TIER.readme,
        () => {
          if (anywhere !== undefined) put(TIER.fields, wholeIds(`${BUT_README} : (${anywhere})`));
        },
      ],
    ];
    let exact = -1;
    return {
      ids,
      tier: (id) => tiers[id]!,
      exactTier: () => exact,
      readTiers: () => {
        const [tier, read] = stages.shift() ?? [exact, () => undefined];
        read();
        exact = tier;
      },
    };
  };
  const start = () => {
    remembered = new Map();
  };
  return { start, find, count: (word, seen) => seenIds(begunIds(quote(word)), seen).length };
}

const NONE = new Uint32Array();

/** Merges two ascending lists. */
function union(one: Uint32Array, other: Uint32Array): Uint32Array {
  if (one.length === 0 || other.length === 0) return one.length === 0 ? other : one;
  const merged = new Uint32Array(one.length + other.length);
  let [count, a, b] = [0, 0, 0];
  while (a < one.length && b < other.length) {
    const [left, right] = [one[a]!, other[b]!];
    merged[count++] = Math.min(left, right);
    if (left <= right) a += 1;
    if (right <= left) b += 1;
  }
  merged.set(one.subarray(a), count);
  merged.set(other.subarray(b), count + one.length - a);
  return merged.subarray(0, count + one.length - a + other.length - b);
}

/** Returns the ids that are in most of the lists, ascending. */
function withMost(lists: readonly Uint32Array[]): Uint32Array {
  const counts = new Uint8Array(Math.max(0, ...lists.map((ids) => (ids.at(-1) ?? -1) + 1)));
  let most = 1;
  for (const ids of lists) for (const id of ids) most = Math.max(most, ++counts[id]!);
  const found = new Uint32Array(counts.length);
  let length = 0;
  for (let id = 0; id < counts.length; id += 1) if (counts[id] === most) found[length++] = id;
  return found.subarray(0, length);
}

/** Parses text like `1,20,300`. */
function readList(text: Buffer): Uint32Array {
  const numbers = new Uint32Array((text.length >> 1) + 1);
  let count = 0;
  let number = 0;
  for (let at = 0; at < text.length; at += 1) {
    const byte = text[at]!;
    if (byte === 0x2c) {
      numbers[count++] = number;
      number = 0;
    } else {
      number = number * 10 + byte - 0x30;
    }
  }
  numbers[count++] = number;
  return numbers.subarray(0, count);
}
