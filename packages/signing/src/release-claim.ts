import type { Digest, FunctionName } from '@krmhub/schema';
import { z } from 'zod';
import { hasSubject, MANIFEST_SUBJECT, RELEASE_PREDICATE, SIGNATURE_PREDICATE } from './statement.js';
import type { Verification } from './verify.js';

/** What a signature of a release must speak of. */
export interface SignedRelease extends FunctionName {
  /** Canonical SemVer name. */
  release: string;
  /** Digest of the definition's exact bytes. */
  definition: Digest;
  /** Manifests that hold the definition, with what each says that its release is. */
  manifests: readonly { digest: string; version: string | undefined }[];
}

/** Digests that a bundle of a release may speak of. */
export function releaseDigests({ definition, manifests }: SignedRelease): string[] {
  return [definition, ...manifests.map(({ digest }) => digest)];
}

/** What a bundle that speaks of a release is: its signature, an attestation beside it, or something that is refused. */
export type ReleaseClaim =
  | { claim: 'signature' }
  | { claim: 'attestation'; predicateType: string }
  | { claim: 'none'; reason: string };

const ReleasePredicate = z.strictObject({ group: z.string(), kind: z.string(), release: z.string() });

/**
 * Holds what was signed against the release that is asked for, so that a signed 1.0.0 cannot be served as 9.9.9. A
 * signature that says nothing but a digest counts where it is of a manifest that names the release itself.
 */
export function readReleaseClaim({ statement }: Verification, expected: SignedRelease): ReleaseClaim {
  const { group, kind, release, definition, manifests } = expected;
  const name = `${group}/${kind}@${release}`;
  if (statement === undefined) {
    return none('a signature over the bare definition does not say of which release it is');
  }
  const { predicateType, predicate } = statement;
  if (predicateType === RELEASE_PREDICATE) {
    const { data } = ReleasePredicate.safeParse(predicate);
    if (data === undefined)
      return none('its predicate is no release: it has other fields than group, kind and release');
    const said = `${data.group}/${data.kind}@${data.release}`;
    if (said !== name) return none(`it is the signature of ${said}, not of ${name}`);
    if (!hasSubject(statement, [definition])) {
      return none(`it speaks of another definition than that of ${name}`);
    }
    return { claim: 'signature' };
  }
  if (predicateType !== SIGNATURE_PREDICATE) return { claim: 'attestation', predicateType };
  const signed = manifests.filter(({ digest }) => hasSubject(statement, [digest]));
  if (signed.some(({ version }) => version === release)) return { claim: 'signature' };
  const [first] = signed;
  return none(
    first === undefined
      ? 'a signature that names no release counts for the manifest of the release, and this one is of the definition'
      : `it signs a manifest that says it is the release ${first.version ?? '(none)'}, not ${release}`,
  );
}

function none(reason: string): ReleaseClaim {
  return { claim: 'none', reason };
}

/**
 * Whether a release's signature names a manifest, and none of these: it was made with another README, or with none, and who
 * shows all of the manifest as signed would show too much.
 */
export function namesOtherManifest(
  { statement }: Verification,
  manifests: SignedRelease['manifests'],
): boolean {
  const named = statement?.subject.filter(({ name }) => name === MANIFEST_SUBJECT) ?? [];
  if (statement?.predicateType !== RELEASE_PREDICATE || named.length === 0) return false;
  return !hasSubject(
    { ...statement, subject: named },
    manifests.map(({ digest }) => digest),
  );
}
