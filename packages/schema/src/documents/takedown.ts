import type { Digest } from '../digests/digest.js';
import type { Signer } from './signer.js';

/** A signer of a release that was taken down; `unidentified` if the registry did not know the key. */
export type TakenDownSigner = Signer | { type: 'unidentified' };

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
  /**
   * Who signed it. Later releases of the function need a signer of an earlier one, also of one that was taken down.
   * Absent if it was not signed, and in tombstones of older versions.
   */
  signers?: TakenDownSigner[];
}
