import type { SearchPage, SearchQuery } from './search-records.js';

/** Brings search up to date. */
export interface SearchSynchronizer {
  /**
   * Updates the search documents of upstream functions from the newest snapshots, in short transactions. Returns false
   * if the signal stopped it. The next call continues.
   */
  synchronizeSearch(signal?: AbortSignal): Promise<boolean>;
}

/** Searches functions. */
export interface SearchReader {
  search(query: SearchQuery): Promise<SearchPage>;
}

/** Searches the functions of this registry and of upstream catalogs. */
export interface SearchStore extends SearchReader, SearchSynchronizer {}
