import type { Digest, FunctionName } from '@krmhub/schema';
import { z } from 'zod';
import {
  hasSubject,
  MANIFEST_SUBJECT,
  RELEASE_PREDICATE,
  SIGNATURE_PREDICATE,
  type Statement,
} from './statement.js';
import { TEST_RESULT_PREDICATE } from './test-result.js';
import type { Verification } from './verify.js';

/** The release that a signature has to be for. */
export interface SignedRelease extends FunctionName {
  /** Canonical SemVer name. */
  release: string;
  /** Digest of the definition's exact bytes. */
  definition: Digest;
  /** Manifests that contain the definition, with the release in each. */
  manifests: readonly { digest: string; version: string | undefined }[];
}

/** Returns the digests that a bundle of the release may sign. */
export function releaseDigests({ definition, manifests }: SignedRelease): string[] {
  return [definition, ...manifests.map(({ digest }) => digest)];
}

/** Whether a bundle is the signature of a release, an attestation of it, or neither. */
export type ReleaseClaim =
  | { claim: 'signature' }
  | { claim: 'attestation'; predicateType: string }
  | { claim: 'none'; reason: string };

const ReleasePredicate = z.strictObject({ group: z.string(), kind: z.string(), release: z.string() });

/** Returns the release that a statement names; undefined if it is invalid or another predicate. */
export function signedRelease({
  predicateType,
  predicate,
}: Statement): (FunctionName & { release: string }) | undefined {
  return predicateType === RELEASE_PREDICATE ? ReleasePredicate.safeParse(predicate).data : undefined;
}

/** Why a statement with the release predicate names no release. */
export const INVALID_PREDICATE =
  'invalid release predicate: expected exactly the fields group, kind, and release';

/**
 * Compares the signed statement with the expected release, so that a signed 1.0.0 cannot be served as 9.9.9. A plain
 * signature of a digest counts if the manifest itself contains the release.
 */
export function readReleaseClaim({ statement }: Verification, expected: SignedRelease): ReleaseClaim {
  const { group, kind, release, definition, manifests } = expected;
  const name = `${group}/${kind}@${release}`;
  if (statement === undefined) {
    return none('a plain signature of the definition does not contain the release');
  }
  const { predicateType } = statement;
  if (predicateType === RELEASE_PREDICATE) {
    const signed = signedRelease(statement);
    if (signed === undefined) return none(INVALID_PREDICATE);
    const signedName = `${signed.group}/${signed.kind}@${signed.release}`;
    if (signedName !== name) return none(`the signature is for ${signedName}, not for ${name}`);
    if (!hasSubject(statement, [definition])) {
      return none(`the signature is for another definition of ${name}`);
    }
    return { claim: 'signature' };
  }
  if (predicateType !== SIGNATURE_PREDICATE) return { claim: 'attestation', predicateType };
  const signed = manifests.filter(({ digest }) => hasSubject(statement, [digest]));
  if (signed.some(({ version }) => version === release)) return { claim: 'signature' };
  const [first] = signed;
  return none(
    first === undefined
      ? 'a plain signature must be for the manifest of the release, but this signature is for the definition'
      : `the signature is for a manifest of the release ${first.version ?? '(none)'}, not ${release}`,
  );
}

function none(reason: string): ReleaseClaim {
  return { claim: 'none', reason };
}

/**
 * Reports whether the signature or the test result of a release contains a manifest other than these: of the same
 * definition with another README, or as another release.
 */
export function namesOtherManifest(
  { statement }: Verification,
  manifests: SignedRelease['manifests'],
): boolean {
  const named = statement?.subject.filter(({ name }) => name === MANIFEST_SUBJECT) ?? [];
  if (statement === undefined || named.length === 0) return false;
  if (statement.predicateType !== RELEASE_PREDICATE && statement.predicateType !== TEST_RESULT_PREDICATE)
    return false;
  return !hasSubject(
    { ...statement, subject: named },
    manifests.map(({ digest }) => digest),
  );
}
