import type { SearchQuery } from '@krmhub/catalog';
import type { Position } from '../../../search/cursor.js';
import type { SearchColumns } from './columns.js';
import type { TextHits } from './hits.js';

/**
 * Order of results: by numbers, lower ones first, then by name. Functions with only yanked releases come last in
 * every order.
 */
export interface ResultOrder {
  /** How many numbers a position starts with; group and kind follow. */
  keys: number;
  /** Compares two functions by the numbers only. */
  compare(a: number, b: number): number;
  /** Compares a function with a position by the numbers only. */
  compareTo(id: number, position: Position): number;
  keysOf(id: number): number[];
}

/** Reports whether the query text ranks the hits: unless another order was requested. */
export function isRanked({ text = '', sort = 'relevance' }: SearchQuery): boolean {
  return sort === 'relevance' && text.trim() !== '';
}

/** Returns how many numbers the position of a result starts with. */
export function countKeys(query: SearchQuery): number {
  if (isRanked(query)) return 4;
  return query.sort === 'newest' ? 2 : 1;
}

export function resultOrder(
  query: SearchQuery,
  columns: SearchColumns,
  text: TextHits | undefined,
): ResultOrder {
  const keys = countKeys(query);
  if (isRanked(query) && text !== undefined) return { keys, ...ranked(columns, text) };
  return { keys, ...(query.sort === 'newest' ? newest(columns) : byName(columns)) };
}

type Comparison = Omit<ResultOrder, 'keys'>;

/** Orders by where the words match, how well, and whether the release is deprecated. */
function ranked(
  { yanked, deprecated }: SearchColumns,
  { tier: tierOf, weight: weightOf }: TextHits,
): Comparison {
  return {
    compare: (a, b) =>
      yanked[a]! - yanked[b]! ||
      tierOf(a) - tierOf(b) ||
      weightOf(a) - weightOf(b) ||
      deprecated[a]! - deprecated[b]!,
    compareTo: (id, [first, tier, weight, last]) =>
      yanked[id]! - (first as number) ||
      tierOf(id) - (tier as number) ||
      weightOf(id) - (weight as number) ||
      deprecated[id]! - (last as number),
    keysOf: (id) => [yanked[id]!, tierOf(id), weightOf(id), deprecated[id]!],
  };
}

/** Orders by publication of the displayed release. Functions without a release come last. */
function newest({ yanked, published: times }: SearchColumns): Comparison {
  const published = times.all(yanked.length);
  return {
    compare: (a, b) => yanked[a]! - yanked[b]! || published[b]! - published[a]!,
    compareTo: (id, [first, age]) => yanked[id]! - (first as number) || -published[id]! - (age as number),
    keysOf: (id) => [yanked[id]!, -published[id]!],
  };
}

function byName({ yanked }: SearchColumns): Comparison {
  return {
    compare: (a, b) => yanked[a]! - yanked[b]!,
    compareTo: (id, [first]) => yanked[id]! - (first as number),
    keysOf: (id) => [yanked[id]!],
  };
}
