import type { SearchPage } from '@krmhub/catalog';
import { FACETS, type Facet, type SearchColumns } from './columns.js';

/** For each filtered facet: 1 for each set of values that passes. */
export type Filters = Partial<Record<Facet, Uint8Array>>;

export interface Scan {
  /** Ids of the candidates that pass every filter, in their order. */
  hits: Uint32Array;
  facets: SearchPage['facets'];
}

/**
 * Scans the candidates once. Those that pass all filters are hits. Those that fail exactly one count for the facet of
 * that filter, because each facet is counted without its own filter.
 */
export function scan(columns: SearchColumns, candidates: Uint32Array, filters: Filters): Scan {
  const given = FACETS.filter((facet) => filters[facet] !== undefined);
  const passes = given.map((facet) => filters[facet]!);
  const numbers = given.map((facet) => columns.facets[facet].numbers);
  const counts = new Map(FACETS.map((facet) => [facet, new Uint32Array(columns.facets[facet].sets)]));
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
  const passing = hits.subarray(0, found);
  // One facet after the other: two arrays at a time fit in the processor's cache.
  for (const facet of FACETS) count(passing, columns.facets[facet].numbers, counts.get(facet)!);
  const facets = Object.fromEntries(
    FACETS.map((facet) => [facet, columns.facets[facet].mostFrequent(counts.get(facet)!)]),
  ) as SearchPage['facets'];
  return { hits: passing, facets };
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
