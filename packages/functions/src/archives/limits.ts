/** Limits on executables and their archives: the unit and the reason for each. */
export const EXECUTABLE_LIMITS = {
  /** Size of the downloaded file. Static Go programs have up to 200 MB. */
  maxSourceBytes: 536_870_912,
  /** Total size of the content of an archive. */
  maxUnpackedBytes: 1_073_741_824,
  /** Entries of an archive. Each entry takes time. */
  maxEntries: 10_000,
  /** Ratio of the content to the size of the archive. Programs have a ratio of about 5. */
  maxRatio: 200,
  /** Size of the metadata of one entry, which is in memory. */
  maxMetadataBytes: 65_536,
} as const;

export type ExecutableLimits = { [Name in keyof typeof EXECUTABLE_LIMITS]: number };
