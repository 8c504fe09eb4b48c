import { DOCUMENT_LIMITS } from '@krmhub/schema/limits';

/** Limits on what is fetched from upstream: the unit and the reason for each. */
export const SOURCE_LIMITS = {
  /** Uncompressed size of a catalog. krmhub could not parse a larger catalog. */
  maxCatalogBytes: DOCUMENT_LIMITS.maxCatalogBytes,
  /** Size of one signature bundle. The bundle of a snapshot has a few thousand bytes. */
  maxBundleBytes: 1_048_576,
  /** Bundles of a catalog that krmhub verifies: more than a snapshot of a krmhub registry can have. */
  maxBundles: 40,
  /** Referrers of a manifest that krmhub reads. Anyone with push access can add any number of referrers. */
  maxReferrers: 64,
  /** YAML and JSON files of one folder. krmhub reads and parses all of them. Together, they have `maxCatalogBytes`. */
  maxFolderFiles: 10_000,
  /** Size of one file of a folder. Function metadata has a few kilobytes. */
  maxFolderFileBytes: 1_048_576,
  /** Release tags of a repository that krmhub fetches: one per function with its own releases. */
  maxReleaseTags: 200,
  /** Redirects in a row: for example, from a short URL to a mirror and then to a file store. */
  maxRedirects: 3,
  /** Attempts to fetch after a temporary failure. */
  maxAttempts: 3,
  /** Delay before the first retry. Each further retry doubles the delay. */
  firstRetryMilliseconds: 500,
  /** Timeout for DNS, TCP, and TLS together. In a slow network, they take one or two seconds. */
  connectMilliseconds: 10_000,
  /** Timeout without any data. Some servers generate a catalog while the client waits. */
  idleMilliseconds: 30_000,
  /** Timeout for the whole fetch: 64 MiB over 5 Mbit/s. It also ends very slow responses. */
  totalMilliseconds: 120_000,
  /** Disk space of one commit of a git repository. A server with partial clones sends only the required files. */
  maxRepositoryBytes: 536_870_912,
  /** Files of one commit that git writes to disk. Large projects have about 20,000 files. */
  maxTreeFiles: 100_000,
  /** Size of one of these files. krmhub skips larger files, because manifests and ConfigMaps are smaller. */
  maxTreeFileBytes: 16_777_216,
  /** Interval between checks of the disk space that git uses. */
  repositoryCheckMilliseconds: 250,
  /** Address space of one git process. A list of a million refs requires 80 MB. */
  maxGitMemoryBytes: 536_870_912,
  /** Size of a list that git prints: refs, or the entries of a folder. */
  maxGitListBytes: 1_048_576,
  /** Size of the list of all tags, or of all files in a folder: about 100,000. */
  maxGitFolderListBytes: 16_777_216,
} as const;

export type SourceLimits = { [Name in keyof typeof SOURCE_LIMITS]: number };
