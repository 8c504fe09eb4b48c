export { CHECK_NAMES, type Check, type CheckName, failed, passed } from './check.js';
export { readLegacySignature, verifyLegacySignature } from './legacy-signature.js';
export { SIGNING_LIMITS } from './limits.js';
export { generateKeys, type KeyPair, readPrivateKey } from './private-key.js';
export { isBundleMediaType, readBundle } from './read-bundle.js';
export * from './release-claim.js';
export { keySigner, type PayloadSigner, signStatement } from './sign.js';
export * from './statement.js';
export { emptyRoot, publicGoodRoot, readTrustedRoot, type TrustedRoot } from './trusted-root.js';
export {
  type SignedArtifact,
  type Signer,
  type Trust,
  type Verification,
  verifyBundle,
  verifyRead,
} from './verify.js';
export { type SnapshotCheck, type VerifiedSnapshot, verifySnapshot } from './verify-snapshot.js';
export * from './verify-source.js';
