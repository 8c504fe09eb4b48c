import type { SearchQuery } from '@krmhub/catalog';
import type { Position } from '../../../search/cursor.js';
import type { SearchColumns } from './columns.js';
import type { TextHits } from './hits.js';

/**
 * The order of results: numbers, of which the lower ones come first, and then the name. What is wholly yanked comes
 * last in each of them.
 */
export interface ResultOrder {
  /** How many numbers a position begins with; the group and the kind follow. */
  keys: number;
  /** By the numbers alone. */
  compare(a: number, b: number): number;
  /** The same with the numbers of a position in the place of the other one. */
  compareTo(id: number, position: Position): number;
  keysOf(id: number): number[];
}

/** Text that is sought ranks its hits where no other order is asked for. */
export function isRanked({ text = '', sort = 'relevance' }: SearchQuery): boolean {
  return sort === 'relevance' && text.trim() !== '';
}

/** How many numbers the position of a search's result begins with. */
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

/** What the words were found in, how well they fit, and what is not deprecated. */
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

/** When the release that is shown was published; what has none comes last. */
function newest({ yanked, published }: SearchColumns): Comparison {
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
