import { DOCUMENT_LIMITS } from '@krmhub/schema/limits';

/** Limits on what is fetched from elsewhere: each with its unit, and why. */
export const SOURCE_LIMITS = {
  /** Bytes of a catalog, unpacked: what is larger would not be read. */
  maxCatalogBytes: DOCUMENT_LIMITS.maxCatalogBytes,
  /** Bytes of a bundle of a signature. Those of snapshots have a few thousand; bills of materials do not stand beside catalogs. */
  maxBundleBytes: 1_048_576,
  /** Bundles that are handed on, each of which is signatures to check. */
  maxBundles: 16,
  /** Referrers of a manifest that are looked at: whoever may push there can add any number. */
  maxReferrers: 64,
  /** Redirects that are followed one after another: from a short address to a mirror to a store of files. */
  maxRedirects: 3,
  /** Times that something is asked for, where a failure may pass by itself. */
  maxAttempts: 3,
  /** Milliseconds before it is asked for again; twice as many each time. */
  firstRetryMilliseconds: 500,
  /** Milliseconds until a connection stands, with its name looked up and TLS agreed on. Behind far networks it takes one or two seconds. */
  connectMilliseconds: 10_000,
  /** Milliseconds for which nothing may come: some servers make a catalog while one waits. */
  idleMilliseconds: 30_000,
  /** Milliseconds for everything together: 64 MiB over 5 Mbit/s. What sends a byte now and then ends here. */
  totalMilliseconds: 120_000,
  /** Bytes on disk of one commit of a git repository. A server that can leave out files sends only the folders. */
  maxRepositoryBytes: 536_870_912,
  /** Milliseconds between two looks at what git has written. */
  repositoryCheckMilliseconds: 250,
  /** Bytes of memory that one process of git may ask for, with what it maps. A list of a million refs has 80 MB. */
  maxGitMemoryBytes: 536_870_912,
  /** Bytes of what git lists: refs and the entries of a folder. */
  maxGitListBytes: 1_048_576,
} as const;

export type SourceLimits = { [Name in keyof typeof SOURCE_LIMITS]: number };
