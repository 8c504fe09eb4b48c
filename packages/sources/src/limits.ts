import { DOCUMENT_LIMITS } from '@krmhub/schema/limits';

/** Limits on what is fetched from upstream: the unit and the reason for each. */
export const SOURCE_LIMITS = {
  /** Uncompressed size of a catalog: a larger one could not be parsed. */
  maxCatalogBytes: DOCUMENT_LIMITS.maxCatalogBytes,
  /** Size of one signature bundle. The bundle of a snapshot has a few thousand bytes. */
  maxBundleBytes: 1_048_576,
  /** Bundles that are passed on for verification. */
  maxBundles: 16,
  /** Referrers of a manifest that are read: anyone with push access can add any number. */
  maxReferrers: 64,
  /** YAML and JSON files of one folder: each is read and parsed. */
  maxFolderFiles: 10_000,
  /** Size of one file of a folder. Function metadata has a few kilobytes; a FunctionConfig for each function some more. */
  maxFolderFileBytes: 1_048_576,
  /** Release tags of a repository that are fetched: one for each function that is released on its own. */
  maxReleaseTags: 200,
  /** Redirects that are followed in a row: from a short address to a mirror to a file store. */
  maxRedirects: 3,
  /** Attempts to fetch after a failure that may be temporary. */
  maxAttempts: 3,
  /** Delay before the first retry; each further retry doubles it. */
  firstRetryMilliseconds: 500,
  /** Timeout for DNS, TCP and TLS together. Over a slow network they take one or two seconds. */
  connectMilliseconds: 10_000,
  /** Timeout without any data: some servers generate a catalog while the client waits. */
  idleMilliseconds: 30_000,
  /** Timeout for the whole fetch: 64 MiB over 5 Mbit/s. It also ends responses that trickle. */
  totalMilliseconds: 120_000,
  /** Disk space of one commit of a git repository. A server that supports partial clones sends only the folders. */
  maxRepositoryBytes: 536_870_912,
  /** Files of one commit that are written to disk. The repositories of large projects have some 20,000. */
  maxTreeFiles: 100_000,
  /** Size of one of these files. Larger ones are left out: no manifest and no ConfigMap can be that large. */
  maxTreeFileBytes: 16_777_216,
  /** Interval between checks of the disk space that git uses. */
  repositoryCheckMilliseconds: 250,
  /** Address space of one git process. A list of a million refs needs 80 MB. */
  maxGitMemoryBytes: 536_870_912,
  /** Size of a list that git prints: refs, or the entries of a folder. */
  maxGitListBytes: 1_048_576,
  /** Size of the list of all tags, or of all files below a folder: 100,000 of them. */
  maxGitFolderListBytes: 16_777_216,
} as const;

export type SourceLimits = { [Name in keyof typeof SOURCE_LIMITS]: number };
