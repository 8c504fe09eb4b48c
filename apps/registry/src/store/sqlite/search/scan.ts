import type { SearchPage } from '@krmhub/catalog';
import { FACETS, type Facet, type SearchColumns } from './columns.js';

/** For each filtered facet: 1 for each set of values that passes. */
export type Filters = Partial<Record<Facet, Uint8Array>>;

export interface Scan {
  /** Ids of the candidates that pass every filter, in their order. */
  hits: Uint32Array;
  facets: SearchPage['facets'];
}

type FacetCounts = SearchPage['facets'][Facet];

/**
 * Scans the candidates once. Those that pass all filters are hits. Those that fail exactly one count for the facet of
 * that filter, because each facet is counted without its own filter. `ofAll` returns the counts of a facet over all
 * candidates, where they are known: those of the facet of a single filter.
 */
export function scan(
  columns: SearchColumns,
  candidates: Uint32Array,
  filters: Filters,
  ofAll?: (facet: Facet) => FacetCounts,
): Scan {
  const given = FACETS.filter((facet) => filters[facet] !== undefined);
  const [only, ...others] = given;
  const known = ofAll !== undefined && only !== undefined && others.length === 0 ? only : undefined;
  const counts = new Map(
    FACETS.filter((facet) => facet !== known).map((facet) => [
      facet,
      new Uint32Array(columns.facets[facet].sets),
    ]),
  );
  const passing =
    known === undefined
      ? passingAll(columns, candidates, { given, filters, counts })
      : passingOne(candidates, filters[known]!, columns.facets[known].numbers);
  // One facet after the other: two arrays at a time fit in the processor's cache.
  for (const [facet, ofFacet] of counts) count(passing, columns.facets[facet].numbers, ofFacet);
  const facets = Object.fromEntries(
    FACETS.map((facet) => [
      facet,
      facet === known ? ofAll!(facet) : columns.facets[facet].mostFrequent(counts.get(facet)!),
    ]),
  ) as SearchPage['facets'];
  return { hits: passing, facets };
}

/** Returns the counts of a facet over these functions. */
export function countFacet(columns: SearchColumns, ids: Uint32Array, facet: Facet): FacetCounts {
  const { numbers, sets } = columns.facets[facet];
  const counts = new Uint32Array(sets);
  count(ids, numbers, counts);
  return columns.facets[facet].mostFrequent(counts);
}

function passingOne(candidates: Uint32Array, passes: Uint8Array, setOf: Uint32Array): Uint32Array {
  const hits = new Uint32Array(candidates.length);
  let found = 0;
  for (let at = 0; at < candidates.length; at += 1) {
    const id = candidates[at]!;
    if (passes[setOf[id]!] === 1) hits[found++] = id;
  }
  return hits.subarray(0, found);
}

/** Returns the candidates that pass every filter, and counts those that fail exactly one. */
function passingAll(
  columns: SearchColumns,
  candidates: Uint32Array,
  {
    given,
    filters,
    counts,
  }: { given: readonly Facet[]; filters: Filters; counts: ReadonlyMap<Facet, Uint32Array> },
): Uint32Array {
  const passes = given.map((facet) => filters[facet]!);
  const numbers = given.map((facet) => columns.facets[facet].numbers);
  const givenCounts = given.map((facet) => counts.get(facet)!);
  const hits = new Uint32Array(candidates.length);
  let found = 0;
  for (let at = 0; at < candidates.length; at += 1) {
    const id = candidates[at]!;
    let failed = -1;
    let failures = 0;
    for (let filter = 0; filter < passes.length; filter += 1) {
      if (passes[filter]![numbers[filter]![id]!] === 1) continue;
      failed = filter;
      failures += 1;
      if (failures > 1) break;
    }
    if (failures === 0) hits[found++] = id;
    else if (failures === 1) givenCounts[failed]![numbers[failed]![id]!]! += 1;
  }
  return hits.subarray(0, found);
}

function count(ids: Uint32Array, setOf: Uint32Array, counts: Uint32Array): void {
  for (let at = 0; at < ids.length; at += 1) counts[setOf[ids[at]!]!]! += 1;
}

/** Returns the first `limit` ids by an order, sorted. */
export function firstBy(
  ids: Uint32Array,
  limit: number,
  compare: (a: number, b: number) => number,
): number[] {
  const first: number[] = [];
  for (let at = 0; at < ids.length; at += 1) {
    const id = ids[at]!;
    if (first.length === limit && compare(id, first[limit - 1]!) >= 0) continue;
    let low = 0;
    let high = first.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compare(first[middle]!, id) <= 0) low = middle + 1;
      else high = middle;
    }
    first.splice(low, 0, id);
    if (first.length > limit) first.pop();
  }
  return first;
}
