import type { PublicKey } from '@krmhub/schema';
import type { Bundle } from '@sigstore/bundle';
import { readBundle } from './read-bundle.js';
import { readSnapshotClaim, readStatement, type SnapshotClaim, type Statement } from './statement.js';
import { emptyRoot } from './trusted-root.js';
import { type Signer, verifyParsedBundle } from './verify.js';

export interface SnapshotCheck {
  check: 'bundle' | 'statement' | 'signature';
  passed: boolean;
  /** What was found, or why it is a refusal. */
  message: string;
}

/** A snapshot that a key signed, or the checks up to the one that failed. */
export interface VerifiedSnapshot {
  checks: SnapshotCheck[];
  signed?: {
    claim: SnapshotClaim;
    /** `sha256:HEX` of what was signed, by name. */
    digests: ReadonlyMap<string, string>;
    signer: Extract<Signer, { type: 'key' }>;
  };
  /** What the bundle says of the key that signed, in base64, where no key fits. */
  hint?: string;
}

/**
 * Whether a bundle from anywhere is the signature of a snapshot by one of these keys. What it signs is then to be held
 * against what was asked for, and against the bytes. Never throws for what the bundle holds.
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
      typeof statement === 'string' ? statement : `it speaks of something else than a snapshot of a catalog`;
    return { checks: [...checks, failed('statement', reason)] };
  }
  checks.push(passed('statement', statement.predicateType));
  const { content } = bundle.verificationMaterial;
  const hint = content.$case === 'publicKey' ? { hint: content.publicKey.hint } : {};
  const result = verifyParsedBundle(bundle, { digests: [...digests.values()] }, { keys, root: emptyRoot() });
  const { signer } = result;
  if (!result.verified || signer?.type !== 'key') {
    const reason = result.checks.find((check) => !check.passed)?.message ?? 'it is not signed by a key';
    return { checks: [...checks, failed('signature', reason)], ...hint };
  }
  checks.push(passed('signature', `by the key ${signer.fingerprint}`));
  return { checks, signed: { claim, digests, signer } };
}

function readBundleStatement({ content }: Bundle): Statement | string {
  if (content.$case !== 'dsseEnvelope')
    return 'a signature over bare bytes does not say of which snapshot it is';
  return readStatement(content.dsseEnvelope.payload);
}

/** Undefined where a subject has no name, no sha256 digest, or the name of another. */
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
