import type { PublicKey, Signer } from '@krmhub/schema';
import type { Bundle } from '@sigstore/bundle';
import { readBundle } from './read-bundle.js';
import { readSnapshotClaim, readStatement, type SnapshotClaim, type Statement } from './statement.js';
import { emptyRoot } from './trusted-root.js';
import { verifyParsedBundle } from './verify.js';

export interface SnapshotCheck {
  check: 'bundle' | 'statement' | 'signature';
  passed: boolean;
  /** The result, or the reason for the failure. */
  message: string;
}

/** A verified snapshot claim, or the checks up to the failed one. */
export interface VerifiedSnapshot {
  checks: SnapshotCheck[];
  signed?: {
    claim: SnapshotClaim;
    /** `sha256:HEX` of the signed documents, by name. */
    digests: ReadonlyMap<string, string>;
    signer: Extract<Signer, { type: 'key' }>;
  };
  /** Key hint of the bundle in base64, if no key matches. */
  hint?: string;
}

/**
 * Verifies that an untrusted bundle is the signature of a snapshot by one of the keys. The caller compares the claim
 * with the requested snapshot and the digests with the bytes. Never throws for an invalid bundle.
 */
export function verifySnapshot(bytes: Uint8Array, keys: readonly PublicKey[]): VerifiedSnapshot {
  const bundle = readBundle(bytes);
  if (typeof bundle === 'string') return { checks: [failed('bundle', bundle)] };
  const checks = [passed('bundle', bundle.mediaType)];
  const statement = readBundleStatement(bundle);
  const claim = typeof statement === 'string' ? undefined : readSnapshotClaim(statement);
  const digests = typeof statement === 'string' ? undefined : readSubjects(statement);
  if (typeof statement === 'string' || claim === undefined || digests === undefined) {
    const reason =
      typeof statement === 'string' ? statement : 'it is not a valid statement of a catalog snapshot';
    return { checks: [...checks, failed('statement', reason)] };
  }
  checks.push(passed('statement', statement.predicateType));
  const { content } = bundle.verificationMaterial;
  const hint = content.$case === 'publicKey' ? { hint: content.publicKey.hint } : {};
  const result = verifyParsedBundle(bundle, { digests: [...digests.values()] }, { keys, root: emptyRoot() });
  const { signer } = result;
  if (!result.verified || signer?.type !== 'key') {
    const reason = result.checks.find((check) => !check.passed)?.message ?? 'it is not signed with a key';
    return { checks: [...checks, failed('signature', reason)], ...hint };
  }
  checks.push(passed('signature', `by the key ${signer.fingerprint}`));
  return { checks, signed: { claim, digests, signer } };
}

/** Returns the digests in the statement of a bundle, by name, without verifying the signature. For own bundles only. */
export function readSnapshotDigests(bytes: Uint8Array): ReadonlyMap<string, string> | undefined {
  const bundle = readBundle(bytes);
  const statement = typeof bundle === 'string' ? bundle : readBundleStatement(bundle);
  return typeof statement === 'string' ? undefined : readSubjects(statement);
}

function readBundleStatement({ content }: Bundle): Statement | string {
  if (content.$case !== 'dsseEnvelope') return 'a plain signature does not contain the snapshot';
  return readStatement(content.dsseEnvelope.payload);
}

/** Returns undefined if a subject has no name, a duplicate name or no sha256 digest. */
function readSubjects({ subject }: Statement): Map<string, string> | undefined {
  const digests = new Map<string, string>();
  for (const { name, digest } of subject) {
    const hex = digest.sha256;
    if (name === undefined || hex === undefined || digests.has(name)) return undefined;
    digests.set(name, `sha256:${hex}`);
  }
  return digests;
}

function passed(check: SnapshotCheck['check'], message: string): SnapshotCheck {
  return { check, passed: true, message };
}

function failed(check: SnapshotCheck['check'], message: string): SnapshotCheck {
  return { check, passed: false, message };
}
