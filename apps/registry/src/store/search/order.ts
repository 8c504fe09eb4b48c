import type { SearchQuery } from '@krmhub/catalog';
import { type TextHits, TIER } from './hits.js';
import type { SeenColumns } from './seen-columns.js';

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
const BELOW_ORIGIN = WARNINGS * KIND_WORDS * STANDINGS;
/** The function is only in upstream catalogs; it is not from the owner of its group. */
const UPSTREAM = BELOW_ORIGIN;
const NOT_VERIFIED = 2 * BELOW_ORIGIN;
const BELOW_TIER = 4 * BELOW_ORIGIN;
const TIERS = 16;

/** The lowest score of a tier. */
export function tierScore(tier: number): number {
  return tier * BELOW_TIER;
}

/**
 * `text` is given if its words rank the hits, and `equal` says that all of them match a query by relevance in the same
 * way.
 */
export function resultOrder(
  { sort }: SearchQuery,
  columns: SeenColumns,
  { text, equal = false }: { text?: TextHits | undefined; equal?: boolean },
): ResultOrder {
  const { yanked, published, owners } = columns;
  const age = (id: number) => -published[id]!;
  if (text !== undefined) return { score: rankedScore(columns, text), age };
  if (equal) return { score: (id) => yanked[id]! * 2 + 1 - owners.isVerified(id), age: () => 0 };
  return { score: (id) => yanked[id]!, age: sort === 'newest' ? age : () => 0 };
}

/**
 * Scores where the words match, and how; then whether it is from the owner of its group, so that nobody comes before
 * one by the same words; then, of functions that the query names, whether they are of this registry; then whether the
 * release should not be used; then how much of the kind the words are; then the evidence for the release. It must depend
 * on stored values, the rules and policies, and the query alone, and not on the clock, so that pages fit together: see
 * `TIER`.
 */
function rankedScore(
  { yanked, ours, warnings, kindWords, standing, owners }: SeenColumns,
  { tier: tierOf }: TextHits,
): ResultOrder['score'] {
  return (id) => {
    const tier = tierOf(id);
    const words = tier > TIER.kindBeginnings ? 0 : Math.min(kindWords[id]!, KIND_WORDS - 1);
    const origin =
      (1 - owners.isVerified(id)) * NOT_VERIFIED + (tier === TIER.kind ? 1 - ours[id]! : 0) * UPSTREAM;
    const within = (warnings[id]! * KIND_WORDS + words) * STANDINGS + standing[id]!;
    return (yanked[id]! * TIERS + tier) * BELOW_TIER + origin + within;
  };
}
