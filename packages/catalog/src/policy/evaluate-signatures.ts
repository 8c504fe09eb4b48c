import type { FunctionName } from '@krmhub/schema';
import type { ReleaseAttestation, Signer } from '../ports/records.js';
import {
  evaluateSignature,
  type JudgedSignature,
  revocationReason,
  signatureProblems,
} from './judge-signature.js';
import { attestationProblems } from './required-attestations.js';
import {
  allSigners,
  applicablePolicies,
  describeSigner,
  describeTrusted,
  matchesSigner,
  type SigningPolicy,
  signatureThreshold,
  type TrustedSigner,
} from './signing-policy.js';

/** The signers, and the policy that trusts them. */
export type Verdict =
  | {
      trusted: true;
      /** The first one, in the order of the signatures. */
      signer: Signer;
      /** The other signers that the policy requires. */
      cosigners: Signer[];
      policy: string;
    }
  /** A policy requires a signature that is missing. */
  | { trusted: false; reason: string; policy: string };

/**
 * Evaluates the signatures of a release: trusted if a covering policy has what it requires; undefined if no policy covers
 * it. Invalid bundles do not count, because anyone who can add bundles could otherwise add an invalid one.
 */
export function evaluateSignatures(
  policies: readonly SigningPolicy[],
  name: FunctionName & { release: string },
  signatures: readonly JudgedSignature[],
  {
    attestations = [],
    problems = [],
  }: { attestations?: readonly ReleaseAttestation[]; problems?: readonly string[] } = {},
): Verdict | undefined {
  const covering = applicablePolicies(policies, name);
  if (covering.length === 0) return undefined;
  const revoked = signatures.flatMap(({ signer }) => revocationReason(policies, signer) ?? []);
  const standing = signatures.filter(({ signer }) => revocationReason(policies, signer) === undefined);
  // Testers and scanners can be revoked, too.
  const revoking = policies.map((policy) => ({ ...policy, signers: allSigners(policy) }));
  const attested = attestations.filter(({ signer }) => revocationReason(revoking, signer) === undefined);
  const judged = covering.map((policy) => ({
    policy,
    ...judgeSigners(policy, standing),
    missing: attestationProblems(policy, attested),
  }));
  for (const { policy, signers, missing } of judged) {
    const [signer, ...cosigners] = signers;
    if (signer !== undefined && missing.length === 0)
      return { trusted: true, signer, cosigners, policy: policy.name };
  }
  // The reason of the closest policy is the most useful: a late signer before an unknown one.
  const closest =
    judged.find(({ signers }) => signers.length > 0) ??
    judged.find(({ isStranger }) => !isStranger) ??
    judged[0]!;
  const policy = closest.policy.name;
  const reasons = [...revoked.slice(0, 1), ...closest.reasons];
  if (reasons.length === 0 && closest.signers.length === 0) {
    const wanted = describeExpectedSigners(covering);
    const unsigned = `it is not signed, but the policy ${policy} requires ${wanted}`;
    reasons.push(...(problems.length > 0 ? problems : [unsigned]));
  }
  return { trusted: false, policy, reason: [...reasons, ...closest.missing].join('; ') };
}

/** Reports whether a policy lists the signer, and no policy revokes it. Ignores the signing time. */
export function isNamedSigner(policies: readonly SigningPolicy[], signer: Signer): boolean {
  return (
    revocationReason(policies, signer) === undefined &&
    policies.some(({ signers }) => signers.some((trusted) => matchesSigner(trusted, signer)))
  );
}

/** Returns the results of all policies for all signatures. Lists with equal results are judged equally. */
export function signatureVerdicts(
  policies: readonly SigningPolicy[],
  signatures: readonly JudgedSignature[],
): string[] {
  return policies.flatMap((policy) =>
    signatures.map((signature) => {
      const { signer } = signature;
      const against = revocationReason(policies, signer) ?? evaluateSignature(policy, signature)?.reason;
      return against ?? `it is signed by ${describeSigner(signer)}`;
    }),
  );
}

interface SignersJudgement {
  /** Enough of them; empty if the policy requires others. */
  signers: Signer[];
  /** Why signatures do not count. */
  reasons: string[];
  /** Whether no signature is by a signer that the policy names. */
  isStranger: boolean;
}

function judgeSigners(policy: SigningPolicy, signatures: readonly JudgedSignature[]): SignersJudgement {
  const required = signatureThreshold(policy);
  const counted = countedSigners(policy.signers, signatures);
  if (counted.length >= required) {
    return {
      signers: counted.slice(0, required).map(({ signer }) => signer),
      reasons: [],
      isStranger: false,
    };
  }
  const refused = signatures.flatMap((signature) => evaluateSignature(policy, signature) ?? []);
  const isStranger = counted.length === 0 && refused.every((one) => one.isStranger);
  if (required === 1) {
    const closest = refused.find((one) => !one.isStranger) ?? refused[0];
    return { signers: [], reasons: closest === undefined ? [] : [closest.reason], isStranger };
  }
  if (signatures.length === 0) return { signers: [], reasons: [], isStranger };
  const missing = policy.signers.filter(
    (one) => one.revoked === undefined && !counted.some(({ trusted }) => trusted === one),
  );
  const who = counted.map(({ signer }) => describeSigner(signer)).join(', ');
  const has = counted.length === 0 ? 'has none' : `has only ${counted.length}: ${who}`;
  const reason = `the policy ${policy.name} requires signatures by ${required} of its signers, but the release ${has}; missing: ${describeSigners(missing)}`;
  return { signers: [], reasons: [reason, ...refused.map((one) => one.reason)], isStranger };
}

interface CountedSigner {
  trusted: TrustedSigner;
  signer: Signer;
}

/**
 * Returns a largest set of trusted signers that different signers signed as: one signature that two of them match counts
 * once, and so do two signatures that only one of them matches (augmenting paths).
 */
function countedSigners(
  trusted: readonly TrustedSigner[],
  signatures: readonly JudgedSignature[],
): CountedSigner[] {
  const groups: JudgedSignature[][] = [];
  for (const signature of signatures) {
    // By name: another repository with the same name is not a second signer.
    const same = groups.find(([first]) => describeSigner(first!.signer) === describeSigner(signature.signer));
    if (same === undefined) groups.push([signature]);
    else same.push(signature);
  }
  const options = groups.map((group) =>
    trusted.filter((one) => group.some((signature) => signatureProblems(one, signature)?.length === 0)),
  );
  const takenBy = new Map<TrustedSigner, number>();
  const place = (group: number, tried: Set<TrustedSigner>): boolean =>
    options[group]!.some((one) => {
      if (tried.has(one)) return false;
      tried.add(one);
      const other = takenBy.get(one);
      if (other !== undefined && !place(other, tried)) return false;
      takenBy.set(one, group);
      return true;
    });
  for (const group of groups.keys()) place(group, new Set());
  return [...takenBy]
    .sort(([, a], [, b]) => a - b)
    .map(([one, group]) => ({ trusted: one, signer: groups[group]![0]!.signer }));
}

function describeExpectedSigners(policies: readonly SigningPolicy[]): string {
  const [first] = policies;
  const required = first === undefined ? 1 : signatureThreshold(first);
  if (first !== undefined && required > 1) {
    return `signatures by ${required} of these signers: ${describeSigners(first.signers)}`;
  }
  const [signer, ...rest] = policies.flatMap(({ signers }) => signers);
  if (signer === undefined) return 'a signature';
  const others = rest.length === 0 ? '' : ` or one of ${rest.length} other signers`;
  return `a signature by ${describeTrusted(signer)}${others}`;
}

/** Signers to name in a message. */
const MAX_NAMED = 3;

function describeSigners(signers: readonly TrustedSigner[]): string {
  const more = signers.length > MAX_NAMED ? ` and ${signers.length - MAX_NAMED} more` : '';
  return `${signers.slice(0, MAX_NAMED).map(describeTrusted).join(', ')}${more}`;
}
