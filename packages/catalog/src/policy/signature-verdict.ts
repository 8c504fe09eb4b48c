import { attestationType, type FunctionName } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { ReleaseAttestation, ReleaseBundle, ReleaseSignature, Signer } from '../ports/records.js';
import { describeSource } from './describe-source.js';
import { evaluateSignatures } from './evaluate-signatures.js';
import { revocationReason } from './judge-signature.js';
import { describeSigner, type SigningPolicy } from './signing-policy.js';

/** The state of the signatures of a release under the current policies. */
export type SignatureState =
  /** A policy trusts a signer. */
  | 'verified'
  /** A policy requires another signer, or revokes this one. */
  | 'not-trusted'
  /** A signature is valid, and no policy covers the release. */
  | 'signed'
  /** A signature is by a key that this registry could not identify. */
  | 'not-checked'
  | 'unsigned';

/**
 * The verdict on the signatures of a release. `verdictLabel` and `verdictText` format it for pages, the API, and the
 * command line, so that they never contradict each other.
 */
export interface SignatureVerdict {
  state: SignatureState;
  signer?: Signer;
  /** The other signers, if the policy requires several. */
  cosigners?: readonly Signer[];
  /** The policy that trusts the signer, or that requires another one. */
  policy?: string;
  /** The reason; only for `not-trusted`. */
  reason?: string;
  /** Whether the signature also covers the README. Absent if the release has no README. */
  isReadmeSigned?: boolean;
}

/** The signatures of a release. */
export interface SignedParts {
  signatures: readonly Omit<ReleaseSignature, 'bundle'>[];
  /** Those that a policy can require. */
  attestations?: readonly ReleaseAttestation[];
  /** Whether there are signatures by keys that this registry could not identify. */
  hasUnidentified?: boolean;
  hasReadme?: boolean;
}

/** Evaluates the signatures of a release under policies. */
export function judgeSignatures(
  policies: readonly SigningPolicy[],
  name: FunctionName & { release: string },
  parts: SignedParts,
): SignatureVerdict {
  const verdict = judge(policies, name, parts);
  if (parts.hasReadme !== true) return verdict;
  // A signature of only the definition does not cover the README.
  const whole = parts.signatures.filter(({ isWhole }) => isWhole === true);
  const covering = judge(policies, name, { ...parts, signatures: whole });
  return { ...verdict, isReadmeSigned: isSound(covering) };
}

function judge(
  policies: readonly SigningPolicy[],
  name: FunctionName & { release: string },
  { signatures, attestations, hasUnidentified }: SignedParts,
): SignatureVerdict {
  const verdict = evaluateSignatures(policies, name, signatures, defined({ attestations }));
  if (verdict?.trusted === true) {
    const { signer, cosigners, policy } = verdict;
    return {
      state: 'verified',
      signer,
      policy,
      ...defined({ cosigners: cosigners.length > 0 ? cosigners : undefined }),
    };
  }
  const [first] = signatures;
  const signer = first === undefined ? {} : { signer: first.signer };
  if (verdict !== undefined) {
    return { state: 'not-trusted', ...signer, policy: verdict.policy, reason: verdict.reason };
  }
  const stated = signatures.map((one) => ({ one, revoked: revocationReason(policies, one.signer) }));
  const sound = stated.find(({ revoked }) => revoked === undefined);
  if (sound !== undefined) return { state: 'signed', signer: sound.one.signer };
  const reason = stated[0]?.revoked;
  if (reason !== undefined) return { state: 'not-trusted', ...signer, reason };
  return { state: hasUnidentified === true ? 'not-checked' : 'unsigned' };
}

/** Reports whether a signature is valid and not rejected by a policy. */
export function isSound({ state }: SignatureVerdict): boolean {
  return state === 'verified' || state === 'signed';
}

/**
 * Returns where a release was built from, by the certificate of the signer in its verdict; undefined if the signature is
 * rejected or states nothing. Has foreign text.
 */
export function builtFrom({ state, signer }: SignatureVerdict): string | undefined {
  return isSound({ state }) && signer?.type === 'identity' ? describeSource(signer.source) : undefined;
}

const LABELS: Record<SignatureState, string> = {
  verified: 'verified',
  'not-trusted': 'not trusted',
  signed: 'signed',
  'not-checked': 'not checked',
  unsigned: 'not signed',
};

/** Returns a short label for lists. */
export function verdictLabel(verdict: Pick<SignatureVerdict, 'state' | 'isReadmeSigned'>): string {
  const label = LABELS[verdict.state];
  return isSound(verdict) && verdict.isReadmeSigned === false ? `${label}, but not the README` : label;
}

/** Returns one line: the state with the signer, the policy, or the reason. */
export function verdictText(verdict: SignatureVerdict): string {
  const readme =
    isSound(verdict) && verdict.isReadmeSigned === false ? '; no signature covers the README' : '';
  return `${stateText(verdict)}${readme}`;
}

function stateText({ state, signer, cosigners = [], policy, reason }: SignatureVerdict): string {
  const who =
    signer === undefined ? 'an unknown signer' : [signer, ...cosigners].map(describeSigner).join(' and ');
  switch (state) {
    case 'verified':
      return `verified as ${who} by the registry policy ${policy}`;
    case 'not-trusted':
      return `not trusted: ${reason}`;
    case 'signed':
      return `signed by ${who}; no registry policy covers the release`;
    case 'not-checked':
      return 'not checked: the registry could not identify the key of the signature';
    case 'unsigned':
      return 'not signed; no registry policy requires a signature';
  }
}

/** Returns the signatures of a release, and its other bundles. */
export function signedParts({
  bundles = [],
  readme,
}: {
  bundles?: readonly ReleaseBundle[];
  readme?: string;
}): SignedParts {
  const own = bundles.filter(({ claim }) => claim === 'signature');
  return {
    signatures: releaseSignatures({ bundles }),
    attestations: releaseAttestations({ bundles }),
    hasUnidentified: own.some(({ signer }) => signer === undefined),
    hasReadme: readme !== undefined,
  };
}

/** Returns the signatures of a release, without those of other objects. */
export function releaseSignatures({
  bundles = [],
}: {
  bundles?: readonly ReleaseBundle[];
}): ReleaseSignature[] {
  return bundles.flatMap(({ digest, claim, signer, signedAt, receivedAt, isWhole }) =>
    claim === 'signature' && signer !== undefined
      ? [
          {
            bundle: digest,
            signer,
            ...defined({ signedAt }),
            receivedAt,
            ...defined({ isWhole }),
          },
        ]
      : [],
  );
}

/** Returns the attestations of a release that policies can require, by signers that are known. */
export function releaseAttestations({
  bundles = [],
}: {
  bundles?: readonly ReleaseBundle[];
}): ReleaseAttestation[] {
  return bundles.flatMap((bundle) => {
    const { claim, predicateType, signer, signedAt, receivedAt, tests, provenance } = bundle;
    if (claim !== 'attestation' || signer === undefined || attestationType(bundle) === undefined) return [];
    return [{ predicateType, signer, receivedAt, ...defined({ signedAt, tests, provenance }) }];
  });
}
