/**
 * Signs and verifies releases, snapshots, and upstream catalogs with sigstore bundles.
 *
 * Bundles are untrusted: verification never throws for an invalid bundle, but says why it is invalid.
 *
 * @module
 */

export type { Signer } from '@krmhub/schema';
export { PROVENANCE_PREDICATE, summarizeAttestation } from './attestation.js';
export {
  CHECK_NAMES,
  type Check,
  type CheckName,
  failedCheck,
  passedCheck,
} from './check.js';
export { readLegacySignature, verifyLegacySignature } from './legacy-signature.js';
export { SIGNING_LIMITS } from './limits.js';
export { generateKeys, type KeyPair, readPrivateKey } from './private-key.js';
export { isBundleMediaType, readBundle } from './read-bundle.js';
export { recoverPublicKey } from './recover-key.js';
export * from './release-claim.js';
export { keySigner, type PayloadSigner, signStatement } from './sign.js';
export type { SignedArtifact } from './signed-artifact.js';
export * from './statement.js';
export * from './test-result.js';
export { emptyRoot, publicGoodRoot, readTrustedRoot, type TrustedRoot } from './trusted-root.js';
export {
  type Trust,
  type Verification,
  verifyBundle,
  verifyParsedBundle,
} from './verify.js';
export { type SnapshotCheck, type VerifiedSnapshot, verifySnapshot } from './verify-snapshot.js';
export * from './verify-source.js';
