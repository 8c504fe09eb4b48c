import type { SearchPage, SearchQuery } from './records.js';

/** Finds functions by what their releases, and those of upstream catalogs, say of them. */
export interface SearchStore {
  search(query: SearchQuery): Promise<SearchPage>;
  /**
   * Brings what search finds of functions that only upstream catalogs have up to what newest snapshots hold, in
   * short transactions. False where the signal broke it off: what is done is done, and the next call does the rest.
   */
  synchronizeSearch(signal?: AbortSignal): Promise<boolean>;
}
