import { matchesGlob } from '@krmhub/schema';
import {
  describeConditions,
  describeTrusted,
  matchesName,
  type SigningPolicy,
  type TrustedSigner,
} from './signing-policy.js';

/** The changes of new policies for the functions of a group. */
export interface TrustChange {
  /** A glob of a policy. */
  group: string;
  /** Whether releases now require a signature, or no longer require one. Absent if this does not change. */
  signatures?: 'needed' | 'not needed';
  /** Added signers as text, with their limits. */
  trusted: string[];
  /** Removed signers as text. */
  distrusted: string[];
}

/** Returns the added and removed signers of each group in the old or new policies. */
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

/** Returns the policies for a group, also with broader globs. A `*` in the group is text that only a `*` matches. */
function coveringPolicies(policies: readonly SigningPolicy[], group: string): SigningPolicy[] {
  return policies.filter(({ groups }) => groups.some((glob) => matchesGlob(glob, group)));
}

/** Returns the revoked signers as text. A revocation applies to every group. */
function revokedSigners(policies: readonly SigningPolicy[]): Map<string, TrustedSigner> {
  const revoked = policies.flatMap(({ signers }) => signers.filter((one) => one.revoked !== undefined));
  return new Map(revoked.map((signer) => [describeTrusted(signer), signer]));
}

function trustedTexts(
  policies: readonly SigningPolicy[],
  revoked: ReadonlyMap<string, TrustedSigner>,
): Set<string> {
  const texts = policies.flatMap((policy) => {
    const { releases, signers, testers = [] } = policy;
    const rest = describeConditions(policy)
      .map((condition) => `, ${condition}`)
      .join('');
    return [
      ...signers
        .filter((signer) => !revoked.has(describeTrusted(signer)))
        .map((one) => `${signerText(one, releases)}${rest}`),
      ...testers
        .filter((signer) => signer.revoked === undefined && !revoked.has(describeTrusted(signer)))
        .map((one) => `${signerText(one, releases)}, for test reports only`),
    ];
  });
  return new Set(texts);
}

/** Reports whether policies trust a subject only by a pattern, which remains when the subject is revoked. */
function isMatchedByPattern(policies: readonly SigningPolicy[], revoked: TrustedSigner): boolean {
  if ('key' in revoked || revoked.subject === undefined) return false;
  const { issuer, subject } = revoked;
  return policies.some(({ signers }) =>
    signers.some(
      (signer) => 'subjectPattern' in signer && matchesName(signer, { type: 'identity', issuer, subject }),
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
