import { type Digest, SNAPSHOT_RENDITIONS, sha256 } from '@krmhub/schema';
import { SIGNING_LIMITS } from './limits.js';
import {
  hasSubject,
  readSnapshotClaim,
  SIGNATURE_PREDICATE,
  SNAPSHOT_PREDICATE,
  type SnapshotClaim,
  type Statement,
} from './statement.js';
import { type Signer, type Trust, type Verification, verifyBundle } from './verify.js';

/** A catalog that somebody else serves, as it was fetched. */
export interface SourceArtifact {
  bytes: Uint8Array;
  /** Digest of `bytes`; made where it is absent. */
  digest?: Digest;
  /** Digest of the OCI manifest that the bytes were found by. */
  manifest?: string;
}

export interface SourceSignature {
  signer: Signer;
  /** When it was signed, where a log or an authority testifies that; RFC 3339. */
  signedAt?: string;
  /** Where it says which snapshot of which catalog the bytes are. */
  snapshot?: Pick<SnapshotClaim, 'catalog' | 'serial' | 'expires'>;
}

export interface SourceVerification {
  /** Those that hold, whoever made them. */
  signatures: SourceSignature[];
  /** Why other bundles are no signatures of the catalog, in words. */
  problems: string[];
}

/**
 * What the bundles beside a catalog prove of it. A statement of a snapshot has to speak of these bytes by the name of a form,
 * or of the manifest; a plain signature of the bytes or the manifest has no serial, and says nothing of age. Never throws
 * for what the bundles hold.
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
  if (bundle.byteLength > maxBundleBytes) return `a bundle has more than ${maxBundleBytes} bytes`;
  const digests = [digest, ...(manifest === undefined ? [] : [manifest])];
  const verification = verifyBundle(bundle, { digests, bytes }, trust);
  const { verified, signer, signedAt, statement } = verification;
  if (!verified || signer === undefined) return describeFailure(verification);
  const claim = readClaim(statement, digest, manifest);
  if (typeof claim === 'string') return claim;
  const signature = { signer, ...(signedAt === undefined ? {} : { signedAt }) };
  if (claim === undefined) return signature;
  const { catalog, serial, expires } = claim;
  return { ...signature, snapshot: { catalog, serial, expires } };
}

/** Undefined for a plain signature; in words why it is none of this catalog. */
function readClaim(
  statement: Statement | undefined,
  digest: Digest,
  manifest: string | undefined,
): SnapshotClaim | string | undefined {
  // A signature over the bytes themselves.
  if (statement === undefined || statement.predicateType === SIGNATURE_PREDICATE) return undefined;
  if (statement.predicateType !== SNAPSHOT_PREDICATE) {
    return `a bundle says ${JSON.stringify(statement.predicateType.slice(0, 100))} of it, which is no signature of a catalog`;
  }
  const claim = readSnapshotClaim(statement);
  if (claim === undefined) return 'the statement of a snapshot in a bundle has other fields than it should';
  const isForm = statement.subject.some(
    (subject) =>
      SNAPSHOT_RENDITIONS.some((form) => form === subject.name) &&
      hasSubject({ ...statement, subject: [subject] }, [digest]),
  );
  if (isForm || (manifest !== undefined && hasSubject(statement, [manifest]))) return claim;
  return `a bundle signs snapshot ${claim.serial} of ${claim.catalog.slice(0, 100)}, of which this is no form`;
}

function describeFailure({ checks }: Verification): string {
  const { check, message } = checks.at(-1)!;
  return `a bundle fails the check of its ${check}: ${message}`;
}
