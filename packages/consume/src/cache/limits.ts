/** Limits on the cache: the unit and the reason for each. */
export const CACHE_LIMITS = {
  /** Size of all blobs and indexes. A large catalog has 300 MB with its index, an executable up to some 100 MB. */
  maxBytes: 4_294_967_296,
  /** Part of `maxBytes` that remains after the oldest files were removed, so that not every write removes some. */
  remainingPart: 0.8,
  /** Records of catalogs, tags and files: a few hundred bytes each. */
  maxRecords: 20_000,
  /** Size of one record. It may contain the reference of a catalog and its validators. */
  maxRecordBytes: 65_536,
  /** Files that were used within this time stay: another process may be about to read them. */
  keptMilliseconds: 600_000,
  /** A file that is used counts as new again after this time; not at each use, which would write each time. */
  touchedMilliseconds: 3_600_000,
  /** The part of an actor that was not used for this time is removed: its token may have been replaced. */
  privateMilliseconds: 2_592_000_000,
  /** Temporary files of processes that were killed. No write takes longer. */
  leftoverMilliseconds: 86_400_000,
} as const;

export type CacheLimits = { [Name in keyof typeof CACHE_LIMITS]: number };
