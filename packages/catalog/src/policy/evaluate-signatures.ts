import type { FunctionName } from '@krmhub/schema';
import type { ClaimProblem } from '../access/trusted-publishers/check-claims.js';
import type { ReleaseSignature, Signer } from '../ports/records.js';
import {
  applicablePolicies,
  describeSigner,
  describeTrusted,
  matchesName,
  matchesSigner,
  type SigningPolicy,
  signatureThreshold,
  type TrustedSigner,
} from './signing-policy.js';
import { describeSourceProblems, sourceProblems } from './source-requirements.js';

/** A signature of anything. */
export type JudgedSignature = Omit<ReleaseSignature, 'bundle'>;

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
  name: Pick<FunctionName, 'group'> & { release: string },
  signatures: readonly JudgedSignature[],
  problems: readonly string[] = [],
): Verdict | undefined {
  const covering = applicablePolicies(policies, name);
  if (covering.length === 0) return undefined;
  const revoked = signatures.flatMap(({ signer }) => revocationReason(policies, signer) ?? []);
  const standing = signatures.filter(({ signer }) => revocationReason(policies, signer) === undefined);
  const judged = covering.map((policy) => ({ policy, ...judgeSigners(policy, standing) }));
  for (const { policy, signers } of judged) {
    const [signer, ...cosigners] = signers;
    if (signer !== undefined) return { trusted: true, signer, cosigners, policy: policy.name };
  }
  const policy = covering[0]!.name;
  // The reason of the closest policy is the most useful: a late signer before an unknown one.
  const closest = judged.find(({ isStranger }) => !isStranger) ?? judged[0]!;
  const reasons = [...revoked.slice(0, 1), ...closest.reasons];
  if (reasons.length > 0) return { trusted: false, policy, reason: reasons.join('; ') };
  if (problems.length > 0) return { trusted: false, policy, reason: problems.join('; ') };
  const wanted = describeExpectedSigners(covering);
  return { trusted: false, policy, reason: `it is not signed, but the policy ${policy} requires ${wanted}` };
}

/** Returns why a signer is revoked, by any policy; undefined if it is not. */
export function revocationReason(policies: readonly SigningPolicy[], signer: Signer): string | undefined {
  for (const { name, signers } of policies) {
    const found = signers.find((trusted) => trusted.revoked !== undefined && isRevoked(trusted, signer));
    if (found !== undefined) {
      return `it is signed by ${describeSigner(signer)}, and the policy ${name} revokes this signer: ${found.revoked}`;
    }
  }
  return undefined;
}

/** A source that the certificate does not state may be the revoked one. */
function isRevoked(revoked: TrustedSigner, signer: Signer): boolean {
  if (!matchesName(revoked, signer)) return false;
  return signerProblems(revoked, signer).every(({ found }) => found === undefined);
}

function signerProblems(trusted: TrustedSigner, signer: Signer): ClaimProblem[] {
  return 'fingerprint' in trusted || signer.type === 'key' ? [] : sourceProblems(trusted, signer.source);
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

/** Returns why a policy does not trust a signature; undefined if it does. */
function evaluateSignature(
  { name, signers }: SigningPolicy,
  signature: JudgedSignature,
): { reason: string; isStranger: boolean } | undefined {
  const who = describeSigner(signature.signer);
  const named = signers.flatMap((trusted) => {
    const problems = signatureProblems(trusted, signature);
    return problems === undefined ? [] : [problems];
  });
  const [closest] = named.sort((a, b) => a.length - b.length);
  if (closest?.length === 0) return undefined;
  if (closest === undefined) {
    return {
      reason: `it is signed by ${who}, but the policy ${name} does not allow this signer`,
      isStranger: true,
    };
  }
  const at = closest.some(({ isOfTime }) => isOfTime)
    ? ` at ${signature.signedAt ?? signature.receivedAt}`
    : '';
  const reasons = closest.map(({ text }) => text).join(', and ');
  return { reason: `it is signed by ${who}${at}, but the policy ${name} ${reasons}`, isStranger: false };
}

/** A reason after "the policy NAME". */
interface SignatureProblem {
  text: string;
  /** Whether it is about the time of the signature. */
  isOfTime: boolean;
}

/** Returns why a signature is not one of a trusted signer; undefined if it is by another key or subject. */
function signatureProblems(
  trusted: TrustedSigner,
  { signer, signedAt, receivedAt }: JudgedSignature,
): SignatureProblem[] | undefined {
  if (trusted.revoked !== undefined || !matchesName(trusted, signer)) return undefined;
  const { validFrom, validUntil } = trusted;
  const at = signedAt ?? receivedAt;
  const problems: SignatureProblem[] = [];
  const source = signerProblems(trusted, signer);
  if (source.length > 0) {
    problems.push({ text: `requires another source: ${describeSourceProblems(source)}`, isOfTime: false });
  }
  if (validFrom !== undefined && at < validFrom) {
    problems.push({ text: `trusts this signer only from ${validFrom}`, isOfTime: true });
  }
  if (validUntil !== undefined && at >= validUntil) {
    problems.push({ text: `trusted this signer only until ${validUntil}`, isOfTime: true });
  }
  return problems;
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
