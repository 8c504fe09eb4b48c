import type { Digest } from '../digests/digest.js';
import type { Signer } from './signer.js';

/** A signer of a release that was taken down; `unidentified` if the registry did not know the key. */
export type TakenDownSigner = Signer | { type: 'unidentified' };

/** Who withdrew something, when, and why. */
export interface WithdrawalReason {
  /** RFC 3339 in UTC with milliseconds. */
  at: string;
  by: string;
  reason: string;
}

/** The tombstone of a release that was taken down. Its bytes are deleted. */
export interface Takedown extends WithdrawalReason {
  group: string;
  kind: string;
  /** Canonical SemVer name. */
  release: string;
  /** Digest of the exact bytes of the definition. */
  digest: Digest;
  /**
   * The signers of the release. Later releases of the function require a signer of an earlier release, also of a
   * release that was taken down. Absent if it was not signed, and in tombstones of older versions.
   */
  signers?: TakenDownSigner[];
  /**
   * Digests of its Starlark scripts that were deleted with it: of their manifests and of their files. Absent for none,
   * and in tombstones of older versions.
   */
  scripts?: Digest[];
  /**
   * Digests of images, executables, and scripts that its definition named, and that the registry refuses. Absent for
   * none, and in tombstones of older versions.
   */
  runtimeDigests?: Digest[];
}

/** Why a snapshot was withdrawn. Without its release for a reader who may not know what was taken down. */
export type Withdrawal = WithdrawalReason & Partial<Takedown>;
