import type { FacetFilters, FacetName } from '@krmhub/schema/facets';
import type { SearchResult } from './records.js';

export type SearchOrder = 'relevance' | 'name' | 'newest';

/** Filters are by the displayed release of a function. */
export interface SearchQuery extends FacetFilters {
  text?: string;
  /** The sort order. Absent for `relevance`, which is `name` without text. Fully yanked functions come last. */
  sort?: SearchOrder;
  /** Maximum number of results, at most 100. */
  limit: number;
  /** `next` of an earlier page. */
  cursor?: string;
}

export interface FacetCount {
  value: string;
  count: number;
}

export interface SearchPage {
  /** The text that was searched instead, because nothing has the words of the query. */
  corrected?: string;
  total: number;
  items: SearchResult[];
  /** The most frequent values of each facet, counted without its own filter. */
  facets: Record<FacetName, FacetCount[]>;
  next?: string;
}
