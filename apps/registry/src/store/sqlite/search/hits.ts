import type { TextQuery } from '../../../search/text.js';
import type { Connection } from '../connection.js';
import { prepared } from '../prepared.js';
import { FINDABLE } from './rows.js';

/** bm25 weights of the columns of function_text: kind, tags, description, group, publisher. */
const WEIGHTS = '10, 5, 2, 1, 1';

/**
 * Largest number of hits that bm25 ranks. Ranking costs ten times as much as finding, and has no visible
 * effect with more hits: matches of the kind or tags come on the first pages.
 */
const MAX_WEIGHED = 1_000;

export interface TextHits {
  /** Ids, ascending. */
  ids: Uint32Array;
  /**
   * Where the words match: 0 the whole kind of a function of this registry, 1 the whole kind of an upstream function,
   * 2 words of the kind, 3 kind and tags, 4 anything. Before `readTags`, 4 includes 3.
   */
  tier(id: number): number;
  /** Rounded bm25, so that similar hits are equal. Lower is better; 0 for all if there are too many hits. */
  weight(id: number): number;
  readTags(): void;
}

/** Finds functions in the full-text index. Call it in the transaction of the search. */
export function textHits({
  client,
}: Pick<Connection, 'client'>): (text: TextQuery, weighed?: boolean) => TextHits {
  // One value for all ids: a row for each would cost more than finding it.
  const matching = prepared(() =>
    client
      .prepare<[string], Buffer | null>(
        'SELECT CAST(group_concat(rowid) AS BLOB) FROM function_text WHERE function_text MATCH ?',
      )
      .pluck(),
  );
  const weights = prepared(() =>
    client
      .prepare<[string], [number, number]>(
        `SELECT rowid, CAST(printf('%.1e', bm25(function_text, ${WEIGHTS})) AS REAL)
       FROM function_text WHERE function_text MATCH ?`,
      )
      .raw(),
  );
  const named = prepared(() =>
    client
      .prepare<[string], [id: number, isOurs: 0 | 1]>(
        `SELECT id, release IS NOT NULL FROM ${FINDABLE} WHERE kind_folded = ?`,
      )
      .raw(),
  );
  const idsMatching = (expression: string): Uint32Array => {
    const list = matching.get(expression);
    return list == null ? new Uint32Array() : readList(list);
  };

  return ({ match, found, joined }, weighed) => {
    const ids = idsMatching(found);
    const tiers = new Uint8Array((ids.at(-1) ?? 0) + 1).fill(4);
    for (const id of idsMatching(`{kind} : (${found})`)) tiers[id] = 2;
    for (const [id, isOurs] of named.all(joined)) {
      if (id < tiers.length) tiers[id] = isOurs === 1 ? 0 : 1;
    }
    const weightOf = (weighed ?? ids.length <= MAX_WEIGHED) ? new Map(weights.all(match)) : undefined;
    return {
      ids,
      tier: (id) => tiers[id]!,
      weight: (id) => weightOf?.get(id) ?? 0,
      readTags: () => {
        for (const id of idsMatching(`{kind tags} : (${found})`)) if (tiers[id] === 4) tiers[id] = 3;
      },
    };
  };
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
