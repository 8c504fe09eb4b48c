import type { SearchQuery } from '@krmhub/catalog';
import type { SearchColumns } from './columns.js';
import type { Position, Reading } from './cursor.js';
import { type TextHits, TIER } from './hits.js';

/**
 * Order of results: by numbers, lower ones first, then by name. Functions with only yanked releases come last in
 * every order.
 */
export interface ResultOrder {
  /** Compares two functions by the numbers only. */
  compare(a: number, b: number): number;
  /** Compares a function with a position by the numbers only. */
  compareTo(id: number, position: Position): number;
  /** The numbers that a position starts with; group and kind follow. */
  keysOf(id: number): number[];
}

/** Reports whether the words of the query rank the hits: unless another order was requested. */
export function isRanked({ text = '', sort = 'relevance' }: SearchQuery, reading: Reading): boolean {
  return sort === 'relevance' && text.trim() !== '' && reading !== 'image';
}

/** Returns how many numbers the position of a result starts with. */
export function countKeys(query: SearchQuery, reading: Reading): number {
  if (isRanked(query, reading)) return 4;
  return query.sort === 'newest' ? 2 : 1;
}

/** `text` is given if its words rank the hits. */
export function resultOrder(
  query: SearchQuery,
  columns: SearchColumns,
  text: TextHits | undefined,
): ResultOrder {
  if (text !== undefined) return ranked(columns, text);
  return query.sort === 'newest' ? newest(columns) : byName(columns);
}

/**
 * Orders by where the words match, and how; then by whether the release is deprecated; then by how much of the kind the
 * words are. It must depend on a function and the query alone: see `TIER`.
 */
function ranked(columns: SearchColumns, { tier: tierOf }: TextHits): ResultOrder {
  const { yanked, deprecated } = columns;
  const kindLength = (id: number): number =>
    tierOf(id) > TIER.kindBeginnings ? 0 : columns.kindOf(id).length;
  return {
    compare: (a, b) =>
      yanked[a]! - yanked[b]! ||
      tierOf(a) - tierOf(b) ||
      deprecated[a]! - deprecated[b]! ||
      kindLength(a) - kindLength(b),
    compareTo: (id, [first, tier, last, length]) =>
      yanked[id]! - (first as number) ||
      tierOf(id) - (tier as number) ||
      deprecated[id]! - (last as number) ||
      kindLength(id) - (length as number),
    keysOf: (id) => [yanked[id]!, tierOf(id), deprecated[id]!, kindLength(id)],
  };
}

/** Orders by publication of the displayed release. Functions without a release come last. */
function newest({ yanked, published: times }: SearchColumns): ResultOrder {
  const published = times.all(yanked.length);
  return {
    compare: (a, b) => yanked[a]! - yanked[b]! || published[b]! - published[a]!,
    compareTo: (id, [first, age]) => yanked[id]! - (first as number) || -published[id]! - (age as number),
    keysOf: (id) => [yanked[id]!, -published[id]!],
  };
}

function byName({ yanked }: SearchColumns): ResultOrder {
  return {
    compare: (a, b) => yanked[a]! - yanked[b]!,
    compareTo: (id, [first]) => yanked[id]! - (first as number),
    keysOf: (id) => [yanked[id]!],
  };
}
