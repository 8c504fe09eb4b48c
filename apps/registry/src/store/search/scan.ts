import type { SearchPage } from '@krmhub/catalog';
import { FACET_NAMES, type FacetName } from '@krmhub/schema/facets';
import { ALONE } from './columns.js';
import { countNumbers } from './facet-tuples.js';
import type { ResultOrder } from './order.js';
import type { SeenColumns } from './seen-columns.js';

/** For each filtered facet: 1 for each set of values that passes. */
export type Filters = Partial<Record<FacetName, Uint8Array>>;

export interface Scan {
  /** Ids of the candidates that pass every filter, in their order. */
  hits: Uint32Array;
  facets: SearchPage['facets'];
}

type FacetCounts = SearchPage['facets'][FacetName];

/**
 * Scans the candidates once. Those that pass all filters are hits. Those that fail exactly one count for the facet of
 * that filter, because each facet is counted without its own filter. `ofAll` returns the counts of a facet over all
 * candidates, where they are known: those of the facet of a single filter.
 */
export function scan(
  columns: SeenColumns,
  candidates: Uint32Array,
  filters: Filters,
  ofAll?: (facet: FacetName) => FacetCounts,
): Scan {
  const given = FACET_NAMES.filter((facet) => filters[facet] !== undefined);
  const [only, ...others] = given;
  const known = ofAll !== undefined && only !== undefined && others.length === 0 ? only : undefined;
  const emptyCounts = (facet: FacetName) => new Uint32Array(columns.facets[facet].sets);
  const counts = new Map(
    given
      .filter((facet) => facet !== known)
      .map((facet): [FacetName, Uint32Array] => [facet, emptyCounts(facet)]),
  );
  const passing =
    known === undefined
      ? passingAll(columns, candidates, { given, filters, counts })
      : passingOne(candidates, filters[known]!, columns.facets[known].numbers);
  for (const facet of FACET_NAMES) {
    if (facet === known || counts.has(facet) || isCountedByValue(facet, passing, columns)) continue;
    counts.set(facet, emptyCounts(facet));
  }
  // One after the other: two arrays at a time fit in the processor's cache.
  for (const tuples of columns.together) tuples.count(passing, counts);
  for (const facet of ALONE) {
    const ofFacet = counts.get(facet);
    if (ofFacet !== undefined) countNumbers(passing, columns.facets[facet].numbers, ofFacet);
  }
  const countMatches = (facet: FacetName): FacetCounts => {
    if (facet === known) return ofAll!(facet);
    const column = columns.facets[facet];
    const ofFacet = counts.get(facet);
    const shows = shownValues(columns, facet);
    return ofFacet === undefined
      ? column.mostFrequentOf(passing, shows)
      : column.mostFrequent(ofFacet, shows);
  };
  const facets = Object.fromEntries(
    FACET_NAMES.map((facet) => [facet, countMatches(facet)]),
  ) as SearchPage['facets'];
  return { hits: passing, facets };
}

/** Sets for each function from which on the values of the functions are counted, not the functions of each set. */
const SETS_FOR_EACH = 8;

function isCountedByValue(facet: FacetName, ids: Uint32Array, { facets }: SeenColumns): boolean {
  return ALONE.includes(facet) && facets[facet].sets > SETS_FOR_EACH * ids.length;
}

/** Returns the counts of a facet over these functions. */
export function countFacet(columns: SeenColumns, ids: Uint32Array, facet: FacetName): FacetCounts {
  const { numbers, sets } = columns.facets[facet];
  const counts = new Uint32Array(sets);
  countNumbers(ids, numbers, counts);
  return columns.facets[facet].mostFrequent(counts, shownValues(columns, facet));
}

/** Returns which values of a facet exist for the search; undefined if all do. */
function shownValues({ shows }: SeenColumns, facet: FacetName): ((value: string) => boolean) | undefined {
  return shows && ((value) => shows(facet, value));
}

function passingOne(candidates: Uint32Array, passes: Uint8Array, valueSets: Uint32Array): Uint32Array {
  const hits = new Uint32Array(candidates.length);
  let found = 0;
  for (let at = 0; at < candidates.length; at += 1) {
    const id = candidates[at]!;
    if (passes[valueSets[id]!] === 1) hits[found++] = id;
  }
  return hits.subarray(0, found);
}

/** Returns the candidates that pass every filter, and counts those that fail exactly one. */
function passingAll(
  columns: SeenColumns,
  candidates: Uint32Array,
  {
    given,
    filters,
    counts,
  }: { given: readonly FacetName[]; filters: Filters; counts: ReadonlyMap<FacetName, Uint32Array> },
): Uint32Array {
  if (given.length === 0) return candidates;
  // One bit for each filter that a candidate fails. One filter after the other, and without branches: so few arrays fit
  // in the processor's cache, and it need not guess.
  const failed = new Uint16Array(candidates.length);
  for (const [bit, facet] of given.entries()) {
    const passes = filters[facet]!;
    const valueSets = columns.facets[facet].numbers;
    for (let at = 0; at < candidates.length; at += 1)
      failed[at]! |= (1 - passes[valueSets[candidates[at]!]!]!) << bit;
  }
  const hits = new Uint32Array(candidates.length);
  let found = 0;
  const valueSets = given.map((facet) => columns.facets[facet].numbers);
  const ofFacet = given.map((facet) => counts.get(facet)!);
  for (let at = 0; at < candidates.length; at += 1) {
    const bits = failed[at]!;
    if (bits === 0) hits[found++] = candidates[at]!;
    else if ((bits & (bits - 1)) === 0) {
      const filter = 31 - Math.clz32(bits);
      ofFacet[filter]![valueSets[filter]![candidates[at]!]!]! += 1;
    }
  }
  return hits.subarray(0, found);
}

/** Returns the first `limit` ids by an order, then by rank, sorted. Computes each score once: there are many ids. */
export function firstBy(
  ids: Uint32Array,
  limit: number,
  { score, age }: ResultOrder,
  rank: Uint32Array,
): number[] {
  const first: { id: number; score: number; age: number }[] = [];
  for (let at = 0; at < ids.length; at += 1) {
    const id = ids[at]!;
    const its = score(id);
    const last = first.length === limit ? first[limit - 1] : undefined;
    if (last !== undefined && its > last.score) continue;
    const one = { id, score: its, age: age(id) };
    const isBefore = (other: typeof one): boolean =>
      (one.score - other.score || one.age - other.age || rank[one.id]! - rank[other.id]!) < 0;
    if (last !== undefined && !isBefore(last)) continue;
    let low = 0;
    let high = first.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isBefore(first[middle]!)) high = middle;
      else low = middle + 1;
    }
    first.splice(low, 0, one);
    if (first.length > limit) first.pop();
  }
  return first.map(({ id }) => id);
}
