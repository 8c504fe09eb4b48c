import { KrmhubError, type Takedown } from '@krmhub/schema';
import { evaluateSignatures } from '../policy/evaluate-signatures.js';
import { releaseAttestations, releaseSignatures } from '../policy/signature-verdict.js';
import { anySigner, beforeTests, type SigningPolicy } from '../policy/signing-policy.js';
import type { FunctionChange, FunctionRecord, ReleaseBundle } from '../ports/records.js';
import { BUNDLE_LIMITS } from './attach.js';
import { pinnedSigners, pinViolation } from './pinned-signers.js';

export interface TrustInput {
  /** The plan to publish the release, without bundles. */
  change: FunctionChange;
  /** Bundles by the publisher. */
  bundles: readonly ReleaseBundle[];
  /**
   * Bundles that others added before the release existed. They neither pin a signer nor prevent the release: their
   * signatures count only if a policy trusts the signer, or if it signed earlier releases.
   */
  others?: readonly ReleaseBundle[];
  /** Why other bundles are not valid evidence. */
  problems: readonly string[];
  policies: readonly SigningPolicy[];
  /** The function at the revision of the plan. */
  current: FunctionRecord | undefined;
  /** The tombstones of the function. */
  takedowns: readonly Takedown[];
}

/**
 * Plans what publishing a release does with its bundles, or returns the error `untrusted` if its signers may not
 * publish it. If a policy covers the release, a trusted signer must have signed it. Otherwise, the signers of the first
 * signed release are pinned, also after a takedown: the function stays signed, by the same signers. To change that,
 * apply a policy first, as an administrator.
 */
export function planTrust(input: TrustInput): FunctionChange | KrmhubError {
  const { change } = input;
  const bundles = countedBundles(input);
  const distrust = checkTrust(input, bundles);
  if (distrust !== undefined) return distrust;
  if (bundles.length === 0) return change;
  const { search } = change;
  const release = { ...change.release, bundles };
  const isShown = search.release === release.release;
  return {
    ...change,
    release,
    search: isShown
      ? { ...search, signatures: releaseSignatures(release), attestations: releaseAttestations(release) }
      : search,
  };
}

/** Returns the bundles of the publisher, and those of others that count, within the limits of a release. */
function countedBundles(input: TrustInput): ReleaseBundle[] {
  const counted = [...input.bundles];
  for (const bundle of input.others ?? []) {
    if (counted.length >= BUNDLE_LIMITS.maxPerRelease) break;
    if (counted.some(({ digest }) => digest === bundle.digest)) continue;
    const attestations = counted.filter(({ claim }) => claim === 'attestation').length;
    const counts =
      bundle.claim === 'attestation'
        ? attestations < BUNDLE_LIMITS.maxUnverifiedPerRelease
        : isTrustedSigner(input, bundle);
    if (counts) counted.push(bundle);
  }
  return counted;
}

/** Reports whether a policy or a pin trusts the signer of a bundle, also if others must sign too. */
function isTrustedSigner(
  { change, policies, current, takedowns }: TrustInput,
  bundle: ReleaseBundle,
): boolean {
  const signatures = releaseSignatures({ bundles: [bundle] });
  const verdict = evaluateSignatures(anySigner(policies), change.release, signatures);
  if (verdict !== undefined) return verdict.trusted;
  const isPinned = pinnedSigners(current, takedowns).signers.length > 0;
  return isPinned && pinViolation({ current, takedowns, signatures, policies }) === undefined;
}

function checkTrust(
  { change: { release }, problems, policies, current, takedowns }: TrustInput,
  bundles: readonly ReleaseBundle[],
): KrmhubError | undefined {
  const name = `${release.group}/${release.kind}@${release.release}`;
  const signatures = releaseSignatures({ bundles });
  const verdict = evaluateSignatures(beforeTests(policies), release, signatures, {
    attestations: releaseAttestations({ bundles }),
    problems,
  });
  if (verdict?.trusted === true) return undefined;
  if (verdict !== undefined) {
    return new KrmhubError('untrusted', `cannot publish ${name}: ${verdict.reason}`, {
      hint: 'List the allowed signers with `krmhub policy list`, and publish with `krmhub publish --key FILE`.',
    });
  }
  const reason = pinViolation({ current, takedowns, signatures, problems, policies });
  if (reason === undefined) return undefined;
  return new KrmhubError('untrusted', `cannot publish ${name}: ${reason}`, {
    hint: `Sign with the same key or identity as the previous releases. ${ALLOW_HINT}`,
  });
}

const ALLOW_HINT = 'An administrator can allow another signer with `krmhub policy add`.';
