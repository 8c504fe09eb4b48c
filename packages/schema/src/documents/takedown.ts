import type { Digest } from '../digests/digest.js';

/** What is left of a release that was taken down: a tombstone with its name and digest. Its bytes are deleted. */
export interface Takedown {
  group: string;
  kind: string;
  /** Canonical SemVer name. */
  release: string;
  /** Digest of the definition's exact bytes. */
  digest: Digest;
  /** RFC 3339 in UTC with milliseconds. */
  at: string;
  by: string;
  reason: string;
}
