/**
 * Verifies signatures of releases, and applies the signing policies to them.
 *
 * A bundle arrives with a publish, with `attach`, or as a referrer that a client pushes.
 *
 * It is verified once: who signed, when, and that it covers this release by its name or its manifest. The result is
 * stored with the release (`ReleaseBundle`), and the bytes as a referrer in the repository of the function. Whether the
 * signer is trusted is evaluated on each read under the current policies (`judgeSignatures`), so a revocation needs no
 * migration.
 *
 * A key that no policy names is derived from the signature (`recoverPublicKey`): its fingerprint is pinned like every
 * other signer. A signature whose key cannot be derived is not evidence until a policy contains the key.
 *
 * @module
 */

import { applicablePolicies, BUNDLE_LIMITS, type ReleaseBundle } from '@krmhub/catalog';
import { bundleManifest, type OciDigest, type Subject } from '@krmhub/oci';
import { type Digest, sha256 } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import {
  hasSubject,
  namesOtherManifest,
  type ReleaseClaim,
  readReleaseClaim,
  recoverPublicKey,
  releaseDigests,
  type SignedRelease,
  summarizeAttestation,
  type Verification,
  verifyBundle,
} from '@krmhub/signing';
import { SERVER_LIMITS } from '../../limits.js';
import type { Artifact } from '../../store/artifacts/artifact-store.js';
import { functionRepository } from '../../store/artifacts/repositories.js';
import type { Turns } from '../../workers/locks/turns.js';
import type { SigningTrust } from './signing-trust.js';

/** A received bundle; `manifest` is its manifest, if the repository has it already. */
export interface SubmittedBundle {
  bytes: Uint8Array;
  manifest?: OciDigest;
}

/** A bundle that is evidence about a release. */
export type VerifiedBundle = SubmittedBundle & Omit<ReleaseBundle, 'manifest' | 'receivedAt' | 'receivedBy'>;

export interface VerifiedBundles {
  found: VerifiedBundle[];
  /** Why the other bundles are not evidence, as the end of the sentence "this one is not …". */
  problems: string[];
}

/** Verifies bundles against a release, each in its own turn of the event loop. */
export async function verifySubmittedBundles(
  { trust, turns }: { trust: SigningTrust; turns: Turns },
  release: SignedRelease,
  given: readonly SubmittedBundle[],
): Promise<VerifiedBundles> {
  const result: VerifiedBundles = { found: [], problems: [] };
  for (const bundle of given) {
    const one = await turns.run(() => verifySubmittedBundle(trust, release, bundle));
    if ('problem' in one) result.problems.push(one.problem);
    else if (!result.found.some(({ digest }) => digest === one.digest)) result.found.push(one);
  }
  return result;
}

/** Returns what a bundle proves about a release, or why it proves nothing. */
export function verifySubmittedBundle(
  trust: SigningTrust,
  release: SignedRelease,
  given: SubmittedBundle,
): VerifiedBundle | { problem: string } {
  const { bytes } = given;
  if (bytes.byteLength > BUNDLE_LIMITS.maxBytes) {
    return {
      problem: `a bundle has ${bytes.byteLength} bytes; the limit is ${BUNDLE_LIMITS.maxBytes}`,
    };
  }
  const artifact = { digests: releaseDigests(release) };
  const byKnown = verifyBundle(bytes, artifact, trust);
  const isStranger = byKnown.unknownKey !== undefined;
  if (!byKnown.verified && !isStranger) return { problem: describeFailure(byKnown) };
  const key = isStranger ? recoverPublicKey(bytes) : undefined;
  const verification = key === undefined ? byKnown : verifyBundle(bytes, artifact, { ...trust, keys: [key] });
  if (key !== undefined && !verification.verified) return { problem: describeFailure(verification) };
  const claim = readReleaseClaim(verification, release);
  if (claim.claim === 'none') return { problem: claim.reason };
  const { group, kind, release: name } = release;
  if (namesOtherManifest(verification, release.manifests)) {
    return {
      problem: `it signs another manifest of ${group}/${kind}@${name}, for example with another README`,
    };
  }
  if (claim.claim === 'signature' && isStranger) {
    if (applicablePolicies(trust.policies, release).length > 0) return { problem: describeFailure(byKnown) };
    // Nothing could be pinned: the next release could be signed by anyone, or not at all.
    if (!verification.verified) return { problem: UNIDENTIFIED };
  }
  const summary = summarizeAttestation(verification.statement!);
  if (typeof summary === 'string') return { problem: summary };
  if (summary.tests !== undefined && !verification.verified) return { problem: UNIDENTIFIED };
  return { ...found(given, verification, claim, release), ...summary };
}

/** Other attestations by such keys are stored all the same: they make nothing trusted. */
const UNIDENTIFIED =
  'bundle verification failed: signature: no signing policy contains the key, and the bundle does not contain the fingerprint of an ECDSA key';

function found(
  given: SubmittedBundle,
  { signer, signedAt, statement }: Verification,
  { claim }: Exclude<ReleaseClaim, { claim: 'none' }>,
  { manifests }: SignedRelease,
): VerifiedBundle {
  const isWhole = hasSubject(
    statement!,
    manifests.map(({ digest }) => digest),
  );
  return {
    ...given,
    digest: sha256(given.bytes),
    size: given.bytes.byteLength,
    claim,
    predicateType: statement!.predicateType,
    ...defined({ signer, signedAt, isWhole: isWhole || undefined }),
  };
}

function describeFailure({ checks }: Verification): string {
  const { check, message } = checks.at(-1)!;
  return `bundle verification failed: ${check}: ${message}`;
}

export interface StoredBundle {
  record: ReleaseBundle;
  /** Absent if the repository has it. */
  artifact?: Artifact;
  /** Bytes of the artifact that are no row: the caller stores them durably first. */
  blob?: Uint8Array;
}

/** Returns a bundle as a referrer of a release's manifest. */
export function bundleToStore(
  name: { group: string; kind: string },
  subject: Subject,
  { bytes, manifest: stored, ...bundle }: VerifiedBundle,
  { at, by }: { at: string; by: string },
): StoredBundle {
  const { digest, size, predicateType } = bundle;
  const received = { receivedAt: at, receivedBy: by };
  if (stored !== undefined) return { record: { ...bundle, manifest: stored, ...received } };
  const manifest = bundleManifest({ subject, bundle, predicateType, created: at });
  const isRow = size <= SERVER_LIMITS.maxBlobRowBytes;
  const blob = { digest, file: digest as Digest, size };
  return {
    record: { ...bundle, manifest: manifest.digest, ...received },
    artifact: {
      repository: functionRepository(name),
      tags: [],
      manifest,
      blobs: [isRow ? { ...blob, place: 'rows', bytes } : { ...blob, place: 'artifacts' }],
    },
    ...defined({ blob: isRow ? undefined : bytes }),
  };
}
