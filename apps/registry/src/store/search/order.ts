import type { SearchQuery } from '@krmhub/catalog';
import type { SearchColumns } from './columns.js';
import { type TextHits, TIER } from './hits.js';

/**
 * Order of results: by score, then by age, lower ones first, then by name. Functions with only yanked releases come last
 * in every order.
 */
export interface ResultOrder {
  score(id: number): number;
  /** Publication time, negative, so that newer ones come first; 0 if it does not matter. */
  age(id: number): number;
}

/** Values of the parts of a score below a tier. */
const WARNINGS = 4;
const KIND_WORDS = 16;
const STANDINGS = 8;
const BELOW_TIER = WARNINGS * KIND_WORDS * STANDINGS;
const TIERS = 16;

/** The lowest score of a tier. */
export function tierScore(tier: number): number {
  return tier * BELOW_TIER;
}

/** `text` is given if its words rank the hits. */
export function resultOrder(
  { sort }: Pick<SearchQuery, 'sort'>,
  columns: SearchColumns,
  text: TextHits | undefined,
): ResultOrder {
  const { yanked, published } = columns;
  const age = (id: number) => -published[id]!;
  if (text !== undefined) return { score: rankedScore(columns, text), age };
  return { score: (id) => yanked[id]!, age: sort === 'newest' ? age : () => 0 };
}

/**
 * Scores where the words match, and how; then whether the release should not be used; then how much of the kind the
 * words are; then the evidence for the release. It must depend on stored values, the policies, and the query alone, and
 * not on the clock, so that pages fit together: see `TIER`.
 */
function rankedScore(
  { yanked, warnings, kindWords, standing }: SearchColumns,
  { tier: tierOf }: TextHits,
): ResultOrder['score'] {
  return (id) => {
    const tier = tierOf(id);
    const words = tier > TIER.kindBeginnings ? 0 : Math.min(kindWords[id]!, KIND_WORDS - 1);
    const within = (warnings[id]! * KIND_WORDS + words) * STANDINGS + standing[id]!;
    return (yanked[id]! * TIERS + tier) * BELOW_TIER + within;
  };
}
