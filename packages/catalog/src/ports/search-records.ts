import type { FunctionName } from '@krmhub/schema';
import type { FacetFilters, FacetName } from '@krmhub/schema/facets';
import type { AccessDocument } from '../access/access-document.js';
import type { OwnerClaim } from '../access/access-rules.js';
import type { Actor } from '../access/can.js';
import type { SearchResult } from './records.js';

/** Rules and an actor, as a thread can receive them. */
export interface SearchAccess {
  /** Changes with the rules. */
  revision: string;
  document: AccessDocument;
  claims: readonly OwnerClaim[];
  actor: Actor;
}

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
  /** Who searches: the rules and the actor decide what exists for this search. Absent if everything is public. */
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
