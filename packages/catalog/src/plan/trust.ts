import { KrmhubError } from '@krmhub/schema';
import { releaseSignatures, signedParts } from '../policy/signature-verdict.js';
import {
  describeSigner,
  evaluateSignatures,
  isSameSigner,
  revocationReason,
  type SigningPolicy,
} from '../policy/signing-policy.js';
import type { FunctionChange, FunctionRecord, ReleaseBundle, ReleaseSignature } from '../ports/records.js';

/**
 * Plans what publishing a release does with its bundles, or returns the error `untrusted` if its signers may not
 * publish it. If a policy covers the release, a trusted signer must have signed it. Otherwise, the signers of the first
 * signed release are pinned: the function stays signed, by the same signers. To change that, apply a policy first, as an
 * administrator.
 */
export function planTrust(input: {
  /** The plan of the publish, without bundles. */
  change: FunctionChange;
  bundles: readonly ReleaseBundle[];
  /** Why others that came with it are no evidence. */
  problems: readonly string[];
  policies: readonly SigningPolicy[];
  /** The function on whose revision the change was planned. */
  current: FunctionRecord | undefined;
}): FunctionChange | KrmhubError {
  const { change, bundles } = input;
  const distrust = checkTrust(input);
  if (distrust !== undefined) return distrust;
  if (bundles.length === 0) return change;
  const { search } = change;
  const release = { ...change.release, bundles: [...bundles] };
  const isShown = search.release === release.release;
  return {
    ...change,
    release,
    search: isShown ? { ...search, signatures: releaseSignatures(release) } : search,
  };
}

function checkTrust({
  change: { release },
  bundles,
  problems,
  policies,
  current,
}: Parameters<typeof planTrust>[0]): KrmhubError | undefined {
  const name = `${release.group}/${release.kind}@${release.release}`;
  const signatures = releaseSignatures({ bundles: [...bundles] });
  const verdict = evaluateSignatures(policies, release, signatures, problems);
  if (verdict?.trusted === true) return undefined;
  if (verdict !== undefined) {
    return new KrmhubError('untrusted', `cannot publish ${name}: ${verdict.reason}`, {
      hint: 'Sign with a key or an identity that the policy names (`krmhub policy list`), as `krmhub publish --key` does.',
    });
  }
  const reason = pinViolation({ current, signatures, problems, policies });
  if (reason === undefined) return undefined;
  return new KrmhubError('untrusted', `cannot publish ${name}: ${reason}`, {
    hint: `A signed function stays signed, by the same signer. ${ALLOW_HINT}`,
  });
}

const ALLOW_HINT = 'An administrator can allow another signer with `krmhub policy apply`.';

/**
 * Returns why a release is not signed as the earlier releases of the function, for functions without a policy. Every
 * signature must be by an earlier signer: otherwise, one signature could bring in another signer. A signer that any
 * policy revokes is never trusted.
 */
export function pinViolation({
  current,
  signatures,
  problems = [],
  policies,
}: {
  current: FunctionRecord | undefined;
  signatures: readonly ReleaseSignature[];
  problems?: readonly string[];
  policies: readonly SigningPolicy[];
}): string | undefined {
  const revoked = signatures
    .map(({ signer }) => revocationReason(policies, signer))
    .find((reason) => reason !== undefined);
  if (revoked !== undefined) return revoked;
  const parts = (current?.releases ?? []).map(signedParts);
  const pinned = parts.flatMap((one) => one.signatures);
  const [first] = pinned;
  // Of an unidentified key it cannot be said that it signed again.
  if (first === undefined && !parts.some(({ hasUnidentified }) => hasUnidentified)) return undefined;
  const before = `previous releases are signed by ${first === undefined ? 'a key that this registry could not identify' : describeSigner(first.signer)}`;
  if (signatures.length === 0) {
    return `${before}, and ${problems.length === 0 ? 'this one is not' : problems.join('; ')}`;
  }
  const stranger = signatures.find(({ signer }) => !pinned.some((one) => isSameSigner(one.signer, signer)));
  return stranger && `it is signed by ${describeSigner(stranger.signer)}, and ${before}`;
}
