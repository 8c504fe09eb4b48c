import { allowsLicense, type FunctionName, type Refused } from '@krmhub/schema';
import { describeSigner, judgeSignatures } from '../policy/signing-policy.js';
import type { OfferSignature, VersionFacts } from '../upstream/source-records.js';
import { keepsOut, type RecipePolicy, type SelectedBy } from './recipe.js';

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
    reasons.push({ code: 'digest', message: `no digest pins ${quotedList(facts.unpinned)}` });
  }
  if (allowNetwork === false && facts.network) {
    reasons.push({ code: 'network', message: 'it needs the network' });
  }
  if (allowStorage === false && facts.storage) {
    reasons.push({ code: 'storage', message: 'it needs storage mounts' });
  }
  if (licenses !== undefined && !allowsLicense(licenses, facts.license)) {
    reasons.push({
      code: 'license',
      message: `its licence ${quoted(facts.license)} is not among the allowed ones`,
    });
  }
  return verdict?.trusted === true ? { reasons, signedBy: describeSigner(verdict.signer) } : { reasons };
}

/** UTF-16 code units of a text of others that a reason repeats: whoever wrote it could make reports of any size. */
const MAX_QUOTED_LENGTH = 200;
/** Texts that a reason repeats. */
const MAX_QUOTED = 3;

/** What somebody else wrote, as reasons repeat it. */
export function quoted(text: string): string {
  return text.length <= MAX_QUOTED_LENGTH ? text : `${text.slice(0, MAX_QUOTED_LENGTH)}…`;
}

function quotedList(texts: readonly string[]): string {
  const more = texts.length - MAX_QUOTED;
  const told = texts.slice(0, MAX_QUOTED).map(quoted).join(', ');
  return more > 0 ? `${told} and ${more} more` : told;
}
