import { allowsLicense, type FunctionName, type Refused } from '@krmhub/schema';
import { keepsOut, type RecipePolicy, type SelectedBy } from './recipe.js';
import { describeSigner, judgeSignatures } from './signing-policy.js';
import type { OfferSignature, VersionFacts } from './source-records.js';

/** An API version of something that a source provides. */
export interface JudgedVersion extends FunctionName {
  release?: string;
  summary: SelectedBy;
  facts: VersionFacts;
  signatures: readonly OfferSignature[];
}

/**
 * Everything that a recipe's policy has against an API version; nothing where it passes. `signedBy` says in words whose
 * signature a policy wanted and found.
 */
export function judgeByPolicy(
  policy: RecipePolicy | undefined,
  judged: JudgedVersion,
): { reasons: Refused['reasons']; signedBy?: string } {
  if (policy === undefined) return { reasons: [] };
  const { group, kind, release = '', summary, facts, signatures } = judged;
  const { requireSignature = [], requireDigest, allowNetwork, allowStorage, licenses, deny = [] } = policy;
  const reasons: Refused['reasons'] = [];
  const denied = deny.find((rule) => keepsOut(rule, { group, kind }, summary));
  if (denied !== undefined) {
    const { reason } = denied;
    reasons.push({
      code: 'denied',
      message: `the recipe denies it${reason === undefined ? '' : `: ${reason}`}`,
    });
  }
  const verdict = judgeSignatures(requireSignature, { group, kind, release }, signatures);
  if (verdict?.trusted === false) reasons.push({ code: 'signature', message: verdict.reason });
  if (requireDigest === true && facts.unpinned.length > 0) {
    reasons.push({ code: 'digest', message: `no digest pins ${facts.unpinned.join(', ')}` });
  }
  if (allowNetwork === false && facts.network) {
    reasons.push({ code: 'network', message: 'it needs the network' });
  }
  if (allowStorage === false && facts.storage) {
    reasons.push({ code: 'storage', message: 'it needs storage mounts' });
  }
  if (licenses !== undefined && !allowsLicense(licenses, facts.license)) {
    reasons.push({ code: 'license', message: `its licence ${facts.license} is not among the allowed ones` });
  }
  return verdict?.trusted === true ? { reasons, signedBy: describeSigner(verdict.signer) } : { reasons };
}
