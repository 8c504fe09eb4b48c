import type { FunctionName } from '@krmhub/schema';
import type { Connection } from '../sqlite/connection.js';
import { prepared } from '../sqlite/prepared.js';
import { FINDABLE } from './document-rows.js';
import type { TextQuery } from './text.js';

/**
 * Where the words of a query match, and how: the order of results by relevance. It depends on the function and the
 * query alone, so that pages fit together, whatever is published between them and whichever process serves them.
 * docs/use.md explains it to users.
 */
export const TIER = {
  /** The query is the kind of a function of this registry, or its name. */
  kind: 0,
  /** The same, of an upstream function. */
  upstreamKind: 1,
  /** The kind begins with the query. */
  kindStart: 2,
  /** All words are words of the kind. */
  kindWords: 3,
  /** All words are beginnings, or plurals, of words of the kind. */
  kindBeginnings: 4,
  /** All words are words of the kind or tags. */
  tagWords: 5,
  tagBeginnings: 6,
  /** All words are words of any field. */
  words: 7,
  beginnings: 8,
} as const;

export interface TextHits {
  /** Ids, ascending. */
  ids: Uint32Array;
  /** Returns a `TIER`: exact up to `exactTier`, and `beginnings` for all others. */
  tier(id: number): number;
  /** The last exact tier; -1 at first. Often there are enough matches in kinds, so others need not be read. */
  exactTier(): number;
  /** Reads the next tiers. */
  readTiers(): void;
}

/** Finds functions in the full-text index. Call it in the transaction of the search. */
export function textHits({ client }: Pick<Connection, 'client'>): {
  find: (text: TextQuery, name?: FunctionName) => TextHits;
  /** Returns the ids of an FTS5 expression, ascending. */
  idsMatching: (expression: string) => Uint32Array;
} {
  // One value for all ids: a row for each would cost more than finding it.
  const matching = prepared(() =>
    client
      .prepare<[string], Buffer | null>(
        'SELECT CAST(group_concat(rowid) AS BLOB) FROM function_text WHERE function_text MATCH ?',
      )
      .pluck(),
  );
  const named = prepared(() =>
    client.prepare<[string], { id: number; group: string; isOurs: 0 | 1 }>(
      `SELECT id, group_name AS "group", release IS NOT NULL AS isOurs FROM ${FINDABLE} WHERE kind_folded = ?`,
    ),
  );
  const idsMatching = (expression: string): Uint32Array => {
    const list = matching.get(expression);
    return list == null ? new Uint32Array() : readList(list);
  };

  const find = ({ found, whole, start, kinds, each }: TextQuery, name?: FunctionName): TextHits => {
    const ids = each === undefined ? idsMatching(found) : withMost(each.map(idsMatching));
    const tiers = new Uint8Array((ids.at(-1) ?? 0) + 1).fill(TIER.beginnings);
    /** Improves tiers. */
    const put = (tier: number, found: Iterable<number>): void => {
      for (const id of found) if (id < tiers.length && tiers[id]! > tier) tiers[id] = tier;
    };
    const putNamed = (kind: string, group?: string): void => {
      for (const row of named.all(kind)) {
        if (group === undefined || row.group === group) {
          put(row.isOurs === 1 ? TIER.kind : TIER.upstreamKind, [row.id]);
        }
      }
    };
    const stages: [exact: number, read: () => void][] = [
      [
        TIER.kindBeginnings,
        () => {
          for (const kind of kinds) putNamed(kind);
          if (name !== undefined) putNamed(name.kind.toLowerCase(), name.group);
          put(TIER.kindStart, idsMatching(`{kind} : ${start}`));
          put(TIER.kindWords, idsMatching(`{kind} : (${whole})`));
          put(TIER.kindBeginnings, idsMatching(`{kind} : (${found})`));
        },
      ],
      [
        TIER.tagBeginnings,
        () => {
          put(TIER.tagWords, idsMatching(`{kind tags} : (${whole})`));
          put(TIER.tagBeginnings, idsMatching(`{kind tags} : (${found})`));
        },
      ],
      [TIER.beginnings, () => put(TIER.words, idsMatching(whole))],
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
  return { find, idsMatching };
}

/** Returns the ids that are in most of the lists, ascending. */
function withMost(lists: readonly Uint32Array[]): Uint32Array {
  const counts = new Uint8Array(Math.max(0, ...lists.map((ids) => (ids.at(-1) ?? -1) + 1)));
  let most = 1;
  for (const ids of lists) for (const id of ids) most = Math.max(most, ++counts[id]!);
  const found: number[] = [];
  for (const [id, count] of counts.entries()) if (count === most) found.push(id);
  return Uint32Array.from(found);
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
