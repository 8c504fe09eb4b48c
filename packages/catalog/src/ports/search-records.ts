import type { SearchResult } from './records.js';

export type SearchOrder = 'relevance' | 'name' | 'newest';

export interface SearchQuery {
  text?: string;
  tag?: string[];
  kind?: string[];
  group?: string[];
  publisher?: string[];
  runtime?: string[];
  license?: string[];
  /** `GROUP/VERSION` of the functionConfig. */
  apiVersion?: string[];
  /** `true` or `false`, as the facts of the displayed release. */
  pinned?: string[];
  network?: string[];
  storage?: string[];
  /** Signers with a valid signature of the release, as in `describeSigner`; not necessarily trusted. */
  signedBy?: string[];
  catalog?: string[];
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
  facets: Record<
    | 'tag'
    | 'kind'
    | 'group'
    | 'publisher'
    | 'runtime'
    | 'license'
    | 'apiVersion'
    | 'pinned'
    | 'network'
    | 'storage'
    | 'signedBy'
    | 'catalog',
    FacetCount[]
  >;
  next?: string;
}
