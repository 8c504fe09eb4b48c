import type { FunctionName } from '@krmhub/schema';
import type { FacetFilters, FacetName } from '@krmhub/schema/facets';
import type { SearchAccess } from '../access/search-access.js';
import type { SearchResult } from './records.js';

export type SearchOrder = 'relevance' | 'name' | 'newest';

/** Filters are by the displayed release of a function. */
export interface SearchQuery extends FacetFilters {
  /** Words and the rest of the syntax of a search. */
  text?: string;
  /** Functions that the digest in the text names. */
  named?: readonly FunctionName[];
  /** Judges signatures, for the order and the filter `signed`. The revision changes with the policies. */
  trust?: {
    revision: number;
    /** Of type SigningPolicy. */
    policies: readonly object[];
  };
  /** The rules decide who owns a group, and with the actor what exists for this search. Absent if there are none. */
  access?: SearchAccess;
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
  /** How people know the value, if not by itself: the display name of a team. */
  text?: string;
}

export interface SearchPage {
  /** The text that was searched instead, because nothing has the words of the query. */
  corrected?: string;
  /** No function has all words, and these have most of them. */
  partial?: boolean;
  total: number;
  items: SearchResult[];
  /** The most frequent values of each facet, counted without its own filter. */
  facets: Record<FacetName, FacetCount[]>;
  next?: string;
}
