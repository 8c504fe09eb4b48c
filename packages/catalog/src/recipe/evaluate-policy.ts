import { allowsLicense, type FunctionName, type Refused } from '@krmhub/schema';
import { judgeSignatures } from '../policy/signature-verdict.js';
import { describeSigner, type SigningPolicy } from '../policy/signing-policy.js';
import type { ReleaseAttestation } from '../ports/records.js';
import type { SourceSignature, VersionFacts } from '../ports/source-records.js';
import { excludes, type RecipePolicy, type SelectableFields } from './recipe.js';

/** An API version of a release or entry of a source. */
export interface EvaluatedVersion extends FunctionName {
  release?: string;
  summary: SelectableFields;
  facts: VersionFacts;
  signatures: readonly SourceSignature[];
  /** Of a release; entries of upstream catalogs have none. */
  attestations?: readonly ReleaseAttestation[];
}

/**
 * Returns the reasons why the policy of a recipe rejects an API version; empty if it passes. `signedBy` is the signer
 * that satisfied a policy. `required` are the signature policies (`requiredSignatures`).
 */
export function evaluatePolicy(
  policy: RecipePolicy | undefined,
  judged: EvaluatedVersion,
  required: readonly SigningPolicy[],
): { reasons: Refused['reasons']; signedBy?: string } {
  if (policy === undefined) return { reasons: [] };
  const { group, kind, release = '', summary, facts, signatures, attestations = [] } = judged;
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
  // An entry has no release, so a policy with a range covers it too.
  const covering = judged.release === undefined ? required.map(withoutRange) : required;
  const { state, signer, reason } = judgeSignatures(
    covering,
    { group, kind, release },
    { signatures, attestations },
  );
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

/** Maximum length of upstream text in reasons, in UTF-16 code units, because upstream authors control it. */
const MAX_QUOTED_LENGTH = 200;
/** Maximum number of texts in a reason. */
const MAX_QUOTED = 3;

/** Shortens upstream text for reasons. */
export function shortened(text: string): string {
  return text.length <= MAX_QUOTED_LENGTH ? text : `${text.slice(0, MAX_QUOTED_LENGTH)}…`;
}

function shortenedList(texts: readonly string[]): string {
  const more = texts.length - MAX_QUOTED;
  const quoted = texts.slice(0, MAX_QUOTED).map(shortened).join(', ');
  return more > 0 ? `${quoted} and ${more} more` : quoted;
}
