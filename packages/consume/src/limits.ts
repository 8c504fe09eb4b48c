import { DOCUMENT_LIMITS } from '@krmhub/schema/limits';

/** Limits on what is read to resolve a function: the unit and the reason for each. */
export const RESOLVE_LIMITS = {
  /** Size of a whole catalog. One of 100,000 functions with large schemas has 340 MB. */
  maxCatalogBytes: 536_870_912,
  /** Entries of a whole catalog: their places are in memory while it is indexed. */
  maxEntries: 250_000,
  /** Size of a catalog in another layout than krmhub writes: it is parsed as a whole, which needs much memory. */
  maxParsedBytes: DOCUMENT_LIMITS.maxCatalogBytes,
  /** Size of one entry of a registry, as a catalog or with its releases. */
  maxEntryBytes: DOCUMENT_LIMITS.maxSourceBytes,
  /** Size of the list of signatures of a release. */
  maxListBytes: 1_048_576,
  /** Signatures of a release that are read. Anyone who may publish can add some. */
  maxBundles: 64,
  /** Size of the configuration of an image, which names its platform. */
  maxImageConfigBytes: 4_194_304,
  /** Documents that are fetched at a time. Each has a connection of its own. */
  maxParallelFetches: 8,
  /**
   * A file that was changed within this time before it was read may change again within the same timestamp, in
   * milliseconds.
   */
  racyMilliseconds: 2_000,
} as const;
