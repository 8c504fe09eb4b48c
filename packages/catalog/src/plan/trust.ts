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
 * Plans what publishing a release does with its bundles, or returns the error `untrusted` if its signers may not
 * publish it. If a policy covers the release, a trusted signer must have signed it. Otherwise, a function that
 * was signed once stays signed by the same signers. To change that, apply a policy first, as an
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
 * Returns why none of the signers has signed the function before, for functions without a policy. A signer that any
 * policy revokes is never trusted.
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
