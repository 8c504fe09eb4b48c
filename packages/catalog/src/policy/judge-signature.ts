import type { ClaimProblem } from '../access/trusted-publishers/check-claims.js';
import type { ReleaseSignature, Signer } from '../ports/records.js';
import { describeSigner, matchesName, type SigningPolicy, type TrustedSigner } from './signing-policy.js';
import { describeSourceProblems, sourceProblems } from './source-requirements.js';

/** Judges one signature by the signers of a policy. */

/** A signature of anything. */
export type JudgedSignature = Omit<ReleaseSignature, 'bundle'>;

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

/** Returns why a policy does not trust a signature; undefined if it does. */
export function evaluateSignature(
  { name, signers }: Pick<SigningPolicy, 'name' | 'signers'>,
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
export function signatureProblems(
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
