/** Keeps the upstream sources of recipes in sync, in this thread or another one. */
export interface CatalogRefresher {
  /** Call it after a recipe was applied. */
  wake(): void;
  /** Resolves when a sync of the source that started after this call ends, whatever its result. */
  refreshNow(input: { catalog: string; source: string }): Promise<void>;
  /**
   * Resolves with true once every source of the catalog was synced since its recipe was applied, with false after the
   * timeout or when the refresher stops.
   */
  waitFor(input: { catalog: string; milliseconds: number }): Promise<boolean>;
  /** Interrupts running fetches. Resolves when nothing runs any more. */
  stop(): Promise<void>;
}
