/**
 * Bundles of releases. A bundle arrives with a publish, with `attach`, or as a referrer that a client pushes.
 *
 * It is verified once: who signed, when, and that it covers this release by its name or its manifest. The result is
 * stored with the release (`ReleaseBundle`), and the bytes as a referrer in the repository of the function. Whether
 * the signer is trusted is evaluated on each read under the current policies (`judgeSignatures`), so a revocation
 * needs no migration. Bundles by unknown keys are verified again when policies name new keys.
 */

import { applicablePolicies, BUNDLE_LIMITS, type ReleaseBundle } from '@krmhub/catalog';
import { bundleManifest, type OciDigest, type Subject } from '@krmhub/oci';
import { type Digest, sha256 } from '@krmhub/schema';
import {
  namesOtherManifest,
  type ReleaseClaim,
  readReleaseClaim,
  releaseDigests,
  type SignedRelease,
  type Verification,
  verifyBundle,
} from '@krmhub/signing';
import type { Artifact } from '../artifacts/artifact-store.js';
import { functionRepository } from '../artifacts/repositories.js';
import type { Turns } from '../isolation/turns.js';
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
  { trust, turns }: { trust: SigningTrust; turns: Pick<Turns, 'run'> },
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
  const verification = verifyBundle(bytes, { digests: releaseDigests(release) }, trust);
  const isStranger = verification.unknownKey !== undefined;
  if (!verification.verified && !isStranger) return { problem: problemOf(verification) };
  const claim = readReleaseClaim(verification, release);
  if (claim.claim === 'none') return { problem: claim.reason };
  if (namesOtherManifest(verification, release.manifests)) {
    const { group, kind, release: name } = release;
    return {
      problem: `it signs another manifest of ${group}/${kind}@${name}, for example with another README`,
    };
  }
  // Without a policy, no key is required: store the signature for users who know the key. Attestations of anything
  // but a signature are stored too, and make nothing trusted.
  const isRequired = claim.claim === 'signature' && applicablePolicies(trust.policies, release).length > 0;
  if (isStranger && isRequired) return { problem: problemOf(verification) };
  return found(given, verification, claim);
}

function found(
  given: SubmittedBundle,
  { signer, signedAt, statement }: Verification,
  { claim }: Exclude<ReleaseClaim, { claim: 'none' }>,
): VerifiedBundle {
  return {
    ...given,
    digest: sha256(given.bytes),
    size: given.bytes.byteLength,
    claim,
    predicateType: statement!.predicateType,
    ...(signer === undefined ? {} : { signer }),
    ...(signedAt === undefined ? {} : { signedAt }),
  };
}

function problemOf({ checks }: Verification): string {
  const { check, message } = checks.at(-1)!;
  return `bundle verification failed: ${check}: ${message}`;
}

export interface StoredBundle {
  record: ReleaseBundle;
  /** The caller stores its bytes durably first; absent if the repository has them. */
  artifact?: Artifact;
}

/** Returns a bundle as a referrer of a release's manifest. */
export function bundleToStore(
  name: { group: string; kind: string },
  subject: Subject,
  { bytes: _, manifest: stored, ...bundle }: VerifiedBundle,
  { at, by }: { at: string; by: string },
): StoredBundle {
  const { digest, size, predicateType } = bundle;
  const received = { receivedAt: at, receivedBy: by };
  if (stored !== undefined) return { record: { ...bundle, manifest: stored, ...received } };
  const manifest = bundleManifest({ subject, bundle, predicateType, created: at });
  return {
    record: { ...bundle, manifest: manifest.digest, ...received },
    artifact: {
      repository: functionRepository(name),
      tags: [],
      manifest,
      blobs: [{ digest, file: digest as Digest, place: 'artifacts', size }],
    },
  };
}
