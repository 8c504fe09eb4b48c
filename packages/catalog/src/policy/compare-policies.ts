import { matchesGlob } from '@krmhub/schema';
import { describeTrusted, matchesSigner, type SigningPolicy, type TrustedSigner } from './signing-policy.js';

/** What new policies change for the functions of a group. */
export interface TrustChange {
  /** A glob, as a policy has it. */
  group: string;
  /** Whether releases need a signature now, or need none any more; absent where that stays. */
  signatures?: 'needed' | 'not needed';
  /** Signers that are trusted now and were not, each with its limits, as text. */
  trusted: string[];
  /** Signers that were trusted and are not any more. */
  distrusted: string[];
}

/** Returns, for each group that a policy names before or after, who becomes trusted and who no longer is. */
export function compareTrust(
  before: readonly SigningPolicy[],
  after: readonly SigningPolicy[],
): TrustChange[] {
  const groups = new Set([...before, ...after].flatMap((policy) => policy.groups));
  const [old, now] = [revokedSigners(before), revokedSigners(after)];
  const newlyRevoked = [...now.values()].filter((signer) => !old.has(describeTrusted(signer)));
  return [...groups].sort().flatMap((group) => {
    const [was, is] = [coveringPolicies(before, group), coveringPolicies(after, group)];
    const [oldTexts, texts] = [trustedTexts(was, old), trustedTexts(is, now)];
    const change: TrustChange = {
      group,
      trusted: [...texts].filter((text) => !oldTexts.has(text)),
      distrusted: [...oldTexts].filter((text) => !texts.has(text)),
    };
    for (const signer of newlyRevoked) {
      if (isMatchedByPattern(was, signer)) change.distrusted.push(describeTrusted(signer));
    }
    const [wasCovered, isCovered] = [was.length > 0, is.length > 0];
    if (wasCovered !== isCovered) change.signatures = isCovered ? 'needed' : 'not needed';
    else if (change.trusted.length + change.distrusted.length === 0) return [];
    return [change];
  });
}

/** Policies over a wider glob speak for the group too. A `*` of the group is text here, which only a `*` matches. */
function coveringPolicies(policies: readonly SigningPolicy[], group: string): SigningPolicy[] {
  return policies.filter(({ groups }) => groups.some((glob) => matchesGlob(glob, group)));
}

/** Revoked signers by their text. A revocation counts in every group. */
function revokedSigners(policies: readonly SigningPolicy[]): Map<string, TrustedSigner> {
  const revoked = policies.flatMap(({ signers }) => signers.filter((one) => one.revoked !== undefined));
  return new Map(revoked.map((signer) => [describeTrusted(signer), signer]));
}

function trustedTexts(
  policies: readonly SigningPolicy[],
  revoked: ReadonlyMap<string, TrustedSigner>,
): Set<string> {
  const texts = policies.flatMap(({ releases, signers }) =>
    signers
      .filter((signer) => !revoked.has(describeTrusted(signer)))
      .map((signer) => signerText(signer, releases)),
  );
  return new Set(texts);
}

/** Reports whether policies trust one subject by a pattern alone, which stays when the subject is revoked. */
function isMatchedByPattern(policies: readonly SigningPolicy[], revoked: TrustedSigner): boolean {
  if (!('subject' in revoked)) return false;
  const { issuer, subject } = revoked;
  return policies.some(({ signers }) =>
    signers.some(
      (signer) => 'subjectPattern' in signer && matchesSigner(signer, { type: 'identity', issuer, subject }),
    ),
  );
}

function signerText(signer: TrustedSigner, releases: string | undefined): string {
  const { validFrom, validUntil } = signer;
  return [
    describeTrusted(signer),
    ...(releases === undefined ? [] : [`releases ${releases}`]),
    ...(validFrom === undefined ? [] : [`from ${validFrom}`]),
    ...(validUntil === undefined ? [] : [`until ${validUntil}`]),
  ].join(', ');
}
