import { type Digest, type Signer, sha256 } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { SIGNING_LIMITS } from './limits.js';
import {
  CATALOG_SUBJECTS,
  hasSubject,
  readSnapshotClaim,
  SIGNATURE_PREDICATE,
  SNAPSHOT_PREDICATE,
  type SnapshotClaim,
  type Statement,
} from './statement.js';
import { type Trust, type Verification, verifyBundle } from './verify.js';

/** A fetched upstream catalog. */
export interface SourceArtifact {
  bytes: Uint8Array;
  /** Digest of `bytes`; computed by default. */
  digest?: Digest;
  /** Digest of the OCI manifest of the catalog. */
  manifest?: string;
}

export interface SourceSignature {
  signer: Signer;
  /** RFC 3339; only if a log or a timestamp authority provides it. */
  signedAt?: string;
  /** The signed snapshot, if the statement contains it. */
  snapshot?: Pick<SnapshotClaim, 'catalog' | 'serial' | 'expires'>;
}

export interface SourceVerification {
  /** Valid signatures, of trusted and other signers. */
  signatures: SourceSignature[];
  /** The reasons why other bundles are not valid signatures of the catalog. */
  problems: string[];
}

/**
 * Verifies the bundles of an upstream catalog. A snapshot statement must contain these bytes with the name of a
 * rendition or a profile, or the manifest. A plain signature of the bytes or the manifest has no serial and no expiry.
 * Never throws for invalid bundles.
 */
export function verifySource(
  bundles: readonly Uint8Array[],
  artifact: SourceArtifact,
  trust: Trust,
): SourceVerification {
  const result: SourceVerification = { signatures: [], problems: [] };
  const digest = artifact.digest ?? sha256(artifact.bytes);
  for (const bundle of bundles) {
    const found = verifyOne(bundle, { ...artifact, digest }, trust);
    if (typeof found === 'string') result.problems.push(found);
    else result.signatures.push(found);
  }
  return result;
}

function verifyOne(
  bundle: Uint8Array,
  { bytes, digest, manifest }: SourceArtifact & { digest: Digest },
  trust: Trust,
): SourceSignature | string {
  const { maxBundleBytes } = SIGNING_LIMITS;
  if (bundle.byteLength > maxBundleBytes) return `a bundle exceeds ${maxBundleBytes} bytes`;
  const digests = [digest, ...(manifest === undefined ? [] : [manifest])];
  const verification = verifyBundle(bundle, { digests, bytes }, trust);
  const { verified, signer, signedAt, statement } = verification;
  if (!verified || signer === undefined) return describeFailure(verification);
  const claim = readClaim(statement, digest, manifest);
  if (typeof claim === 'string') return claim;
  const signature = { signer, ...defined({ signedAt }) };
  if (claim === undefined) return signature;
  const { catalog, serial, expires } = claim;
  return { ...signature, snapshot: { catalog, serial, expires } };
}

/** Returns undefined for a plain signature, the reason if the statement is not for this catalog. */
function readClaim(
  statement: Statement | undefined,
  digest: Digest,
  manifest: string | undefined,
): SnapshotClaim | string | undefined {
  // A signature of the bytes, without a statement.
  if (statement === undefined || statement.predicateType === SIGNATURE_PREDICATE) return undefined;
  if (statement.predicateType !== SNAPSHOT_PREDICATE) {
    return `a bundle is not a signature of a catalog: it has the predicate type ${JSON.stringify(statement.predicateType.slice(0, 100))}`;
  }
  const claim = readSnapshotClaim(statement);
  if (claim === undefined) return 'a bundle has an invalid snapshot statement';
  const isRendition = statement.subject.some(
    (subject) =>
      CATALOG_SUBJECTS.some((name) => name === subject.name) &&
      hasSubject({ ...statement, subject: [subject] }, [digest]),
  );
  if (isRendition || (manifest !== undefined && hasSubject(statement, [manifest]))) return claim;
  return `a bundle signs snapshot ${claim.serial} of ${claim.catalog.slice(0, 100)}, but not these bytes`;
}

function describeFailure({ checks }: Verification): string {
  const { check, message } = checks.at(-1)!;
  return `a bundle failed the check ${check}: ${message}`;
}
