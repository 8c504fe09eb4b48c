import { allowsLicense, type FunctionName, type Refused } from '@krmhub/schema';
import { judgeSignatures } from '../policy/signature-verdict.js';
import { describeSigner, type SigningPolicy } from '../policy/signing-policy.js';
import type { SourceSignature, VersionFacts } from '../ports/source-records.js';
import { excludes, type RecipePolicy, type SelectableFields } from './recipe.js';

/** An API version of something that a source provides. */
export interface EvaluatedVersion extends FunctionName {
  release?: string;
  summary: SelectableFields;
  facts: VersionFacts;
  signatures: readonly SourceSignature[];
}

/**
 * Everything that a recipe's policy has against an API version; nothing where it passes. `signedBy` says in words whose
 * signature a policy wanted and found; `required` are the policies on signatures (`requiredSignatures`).
 */
export function evaluatePolicy(
  policy: RecipePolicy | undefined,
  judged: EvaluatedVersion,
  required: readonly SigningPolicy[],
): { reasons: Refused['reasons']; signedBy?: string } {
  if (policy === undefined) return { reasons: [] };
  const { group, kind, release = '', summary, facts, signatures } = judged;
  const { requireDigest, allowNetwork, allowStorage, licenses, deny = [] } = policy;
  const reasons: Refused['reasons'] = [];
  const denied = deny.find((rule) => excludes(rule, { group, kind }, summary));
  if (denied !== undefined) {
    const { reason } = denied;
    reasons.push({
      code: 'denied',
      message: `the recipe denies it${reason === undefined ? '' : `: ${reason}`}`,
    });
  }
  // An entry has no release, so a range of releases cannot tell whether it needs a signature.
  const covering = judged.release === undefined ? required.map(withoutRange) : required;
  const { state, signer, reason } = judgeSignatures(covering, { group, kind, release }, { signatures });
  if (reason !== undefined) reasons.push({ code: 'signature', message: reason });
  if (requireDigest === true && facts.unpinned.length > 0) {
    reasons.push({ code: 'digest', message: `not pinned by digest: ${shortenedList(facts.unpinned)}` });
  }
  if (allowNetwork === false && facts.network) {
    reasons.push({ code: 'network', message: 'it requires network access' });
  }
  if (allowStorage === false && facts.storage) {
    reasons.push({ code: 'storage', message: 'it requires mounted storage' });
  }
  if (licenses !== undefined && !allowsLicense(licenses, facts.license)) {
    reasons.push({
      code: 'license',
      message: `its license ${shortened(facts.license)} is not allowed`,
    });
  }
  const signedBy = state === 'verified' && signer !== undefined ? describeSigner(signer) : undefined;
  return signedBy === undefined ? { reasons } : { reasons, signedBy };
}

function withoutRange({ releases: _, ...policy }: SigningPolicy): SigningPolicy {
  return policy;
}

/** UTF-16 code units of a text of others that a reason repeats: anyone who wrote it could make reports of any size. */
const MAX_QUOTED_LENGTH = 200;
/** Texts that a reason repeats. */
const MAX_QUOTED = 3;

/** What another party wrote, as reasons repeat it. */
export function shortened(text: string): string {
  return text.length <= MAX_QUOTED_LENGTH ? text : `${text.slice(0, MAX_QUOTED_LENGTH)}…`;
}

function shortenedList(texts: readonly string[]): string {
  const more = texts.length - MAX_QUOTED;
  const told = texts.slice(0, MAX_QUOTED).map(shortened).join(', ');
  return more > 0 ? `${told} and ${more} more` : told;
}
