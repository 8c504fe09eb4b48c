/** Who keeps the sources of recipes that are catalogs elsewhere; in which thread is its own affair. */
export interface CatalogRefresher {
  /** To be called after a recipe was applied. */
  wake(): void;
  /** Resolves once a look at the source that began after this call is done, whatever it found. */
  refreshNow(catalog: string, source: string): Promise<void>;
  /**
   * Resolves with true once every source of the catalog was asked since its recipe was applied, with false after so many
   * milliseconds or on a stop.
   */
  waitFor(catalog: string, milliseconds: number): Promise<boolean>;
  /** Breaks off what is being fetched, and resolves when nothing is done any more. */
  stop(): Promise<void>;
}
