import { KrmhubError } from '@krmhub/schema';
import {
  describeSigner,
  evaluateSignatures,
  isSameSigner,
  revocationReason,
  type SigningPolicy,
} from '../policy/signing-policy.js';
import type {
  FunctionChange,
  FunctionRecord,
  ReleaseBundle,
  ReleaseSignature,
  Signer,
} from '../ports/records.js';
import { releaseSignatures } from './displayed-release.js';

/**
 * What publishing a release does with the bundles that came with it, or the error `untrusted` where it may not be
 * published by who signed it. Where a policy covers it, somebody whom it trusts has signed. Elsewhere a function that
 * was signed once is never unsigned again, and not signed by others: for that a policy is needed first, which an
 * administrator applies.
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
  const earlier = previousSigners(current);
  const hint = 'An administrator can allow another signer with `krmhub policy apply`.';
  if (signatures.length === 0) {
    if (earlier.length === 0) return undefined;
    const reason = problems.length === 0 ? 'this one is not' : problems.join('; ');
    return new KrmhubError(
      'untrusted',
      `cannot publish ${name}: previous releases are signed by ${describeSigner(earlier[0]!)}, and ${reason}`,
      { hint: `A signed function stays signed. ${hint}` },
    );
  }
  const reason = signerMismatch(current, signatures, policies);
  return reason === undefined
    ? undefined
    : new KrmhubError('untrusted', `cannot publish ${name}: ${reason}`, { hint });
}

/**
 * Where no policy says who may sign: why these are not by one who has signed the function before. Whom any policy revokes
 * is believed nowhere.
 */
export function signerMismatch(
  current: FunctionRecord | undefined,
  signatures: readonly ReleaseSignature[],
  policies: readonly SigningPolicy[],
): string | undefined {
  const earlier = previousSigners(current);
  const sound = signatures.filter(({ signer }) => revocationReason(policies, signer) === undefined);
  const [first] = sound;
  if (first === undefined) return signatures[0] && revocationReason(policies, signatures[0].signer);
  if (earlier.length === 0) return undefined;
  if (sound.some(({ signer }) => earlier.some((one) => isSameSigner(one, signer)))) return undefined;
  return `it is signed by ${describeSigner(first.signer)}, and previous releases by ${describeSigner(earlier[0]!)}`;
}

function previousSigners(current: FunctionRecord | undefined): Signer[] {
  return (current?.releases ?? []).flatMap(releaseSignatures).map(({ signer }) => signer);
}
