/**
 * Signing policies: which signers may sign the releases of which functions.
 *
 * @module
 */

import { type Digest, type FunctionName, matchesGlob, type PublicKey, readPublicKey } from '@krmhub/schema';
import { loadRe2 } from '@krmhub/schema/libraries/lazy-libraries';
import semver from 'semver';
import type { ReleaseSignature, Signer, Time } from '../ports/records.js';

export const POLICY_API_VERSION = 'krmhub.dev/v1alpha1';
export const POLICY_KIND = 'SigningPolicy';

/** Limits on policies, with their units. */
export const POLICY_LIMITS = {
  /** Size of the policy file. */
  maxBytes: 262_144,
  /** Policies in the file. */
  maxPolicies: 500,
  /** Group globs of one policy. */
  maxGroups: 100,
  /** Signers of one policy. */
  maxSigners: 100,
  /** Catalogs of one CatalogTrust: each of them is compared with every reference. */
  maxCatalogs: 100,
  /** Subject patterns of all policies. The slowest pattern takes some milliseconds to compile. */
  maxPatterns: 100,
  /** Length of a subject pattern, in UTF-16 code units. */
  maxPatternLength: 256,
  /** Length of a name, a glob, or a subject, in UTF-16 code units. A PEM key has up to 800. */
  maxTextLength: 2_048,
} as const;

/** The trusted signers for the releases of functions. */
export interface SigningPolicy {
  /** A DNS label. */
  name: string;
  /** Globs. `*` matches any characters. */
  groups: string[];
  /** An npm semver range, including pre-releases. Absent for every release. */
  releases?: string;
  /** The signers. One of them is sufficient. */
  signers: TrustedSigner[];
  /** Signers of test reports only: they are not trusted for releases. The signers may report tests, too. */
  testers?: TrustedSigner[];
}

/** When signatures count. */
export interface Validity {
  /** Only signatures from this time. */
  validFrom?: Time;
  /** Only signatures before this time. */
  validUntil?: Time;
}

export type TrustedSigner = (
  | { key: string; fingerprint: Digest }
  | { issuer: string; subject: string }
  | { issuer: string; subjectPattern: string }
) &
  Validity & {
    /** The reason why none of its signatures is trusted, old or new. */
    revoked?: string;
  };

/** The signer, and the policy that trusts it. */
export type Verdict =
  | { trusted: true; signer: Signer; policy: string }
  /** A policy requires a signature that is missing. */
  | { trusted: false; reason: string; policy: string };

/** Returns the policies that cover a release. */
export function applicablePolicies(
  policies: readonly SigningPolicy[],
  { group, release }: { group: string; release: string },
): SigningPolicy[] {
  return policies.filter(
    ({ groups, releases }) =>
      groups.some((glob) => matchesGlob(glob, group)) &&
      (releases === undefined || semver.satisfies(release, releases, { includePrerelease: true })),
  );
}

/**
 * Evaluates the signatures of a release: trusted if a signer of a covering policy signed it; undefined if no policy
 * covers it. One valid signature is sufficient, because anyone who can add bundles could otherwise add an invalid one.
 */
export function evaluateSignatures(
  policies: readonly SigningPolicy[],
  name: FunctionName & { release: string },
  signatures: readonly Omit<ReleaseSignature, 'bundle'>[],
  problems: readonly string[] = [],
): Verdict | undefined {
  const covering = applicablePolicies(policies, name);
  if (covering.length === 0) return undefined;
  const stated = signatures.map((signature) => ({
    signature,
    revoked: revocationReason(policies, signature.signer),
  }));
  const reasons: { reason: string; isStranger: boolean }[] = [];
  for (const policy of covering) {
    for (const { signature, revoked } of stated) {
      if (revoked !== undefined) continue;
      const said = evaluateSignature(policy, signature);
      if (said === undefined) return { trusted: true, signer: signature.signer, policy: policy.name };
      reasons.push(said);
    }
  }
  const policy = covering[0]!.name;
  // The reason of the closest signature is the most useful: a revoked or late signer before an unknown one.
  const reason =
    stated.find(({ revoked }) => revoked !== undefined)?.revoked ??
    (reasons.find(({ isStranger }) => !isStranger) ?? reasons[0])?.reason;
  if (reason !== undefined) return { trusted: false, policy, reason };
  if (problems.length > 0) return { trusted: false, policy, reason: problems.join('; ') };
  const wanted = describeExpectedSigners(covering);
  return { trusted: false, policy, reason: `it is not signed, but the policy ${policy} requires ${wanted}` };
}

/** Returns why a signer is revoked, by any policy; undefined if it is not. */
export function revocationReason(policies: readonly SigningPolicy[], signer: Signer): string | undefined {
  for (const { name, signers } of policies) {
    const found = signers.find((trusted) => trusted.revoked !== undefined && matchesSigner(trusted, signer));
    if (found !== undefined) {
      return `it is signed by ${describeSigner(signer)}, and the policy ${name} revokes this signer: ${found.revoked}`;
    }
  }
  return undefined;
}

/** Returns why a policy does not trust a signature; undefined if it does. */
function evaluateSignature(
  { name, signers }: SigningPolicy,
  { signer, signedAt, receivedAt }: Omit<ReleaseSignature, 'bundle'>,
): { reason: string; isStranger: boolean } | undefined {
  const who = describeSigner(signer);
  const matching = signers.filter((trusted) => matchesSigner(trusted, signer));
  const at = signedAt ?? receivedAt;
  let reason = `it is signed by ${who}, but the policy ${name} does not allow this signer`;
  for (const { validFrom, validUntil } of matching) {
    if (validFrom !== undefined && at < validFrom) {
      reason = `it is signed by ${who} at ${at}, but the policy ${name} trusts this signer only from ${validFrom}`;
    } else if (validUntil !== undefined && at >= validUntil) {
      reason = `it is signed by ${who} at ${at}, but the policy ${name} trusted this signer only until ${validUntil}`;
    } else return undefined;
  }
  return { reason, isStranger: matching.length === 0 };
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
  signatures: readonly Omit<ReleaseSignature, 'bundle'>[],
): string[] {
  return policies.flatMap((policy) =>
    signatures.map((signature) => {
      const { signer } = signature;
      const against = revocationReason(policies, signer) ?? evaluateSignature(policy, signature)?.reason;
      return against ?? `it is signed by ${describeSigner(signer)}`;
    }),
  );
}

/** Returns the policies for test reports, which testers may sign, too. */
export function testReportPolicies(policies: readonly SigningPolicy[]): SigningPolicy[] {
  return policies.map((policy) => ({ ...policy, signers: allSigners(policy) }));
}

/** Returns the signers of releases and of test reports. */
export function allSigners({
  signers,
  testers = [],
}: Pick<SigningPolicy, 'signers' | 'testers'>): TrustedSigner[] {
  return [...signers, ...testers];
}

/**
 * Every key that policies list, once, also of testers. Includes retired and revoked keys, to identify their earlier
 * signatures.
 */
export function policyKeys(policies: readonly SigningPolicy[]): PublicKey[] {
  const keys = new Map<Digest, PublicKey>();
  for (const signer of policies.flatMap(allSigners)) {
    if (!('key' in signer) || keys.has(signer.fingerprint)) continue;
    keys.set(signer.fingerprint, readPublicKey(signer.key, 'a key of the policies'));
  }
  return [...keys.values()];
}

export function matchesSigner(trusted: TrustedSigner, signer: Signer): boolean {
  if ('fingerprint' in trusted) return signer.type === 'key' && signer.fingerprint === trusted.fingerprint;
  if (signer.type !== 'identity' || signer.issuer !== trusted.issuer) return false;
  if ('subject' in trusted) return signer.subject === trusted.subject;
  return compilePattern(trusted.subjectPattern).matches(signer.subject);
}

const patterns = new Map<string, { matches(text: string): boolean }>();
const MAX_PATTERNS = 1_000;

/** The signer of an entry that a catalog has from an upstream source without a signature. */
export const IMPORTED = 'imported; not signed by its author';

/** Compiles an RE2 pattern, which matches in linear time. Throws an Error for invalid patterns. */
export function compilePattern(pattern: string): { matches(text: string): boolean } {
  const known = patterns.get(pattern);
  if (known !== undefined) return known;
  if (patterns.size >= MAX_PATTERNS) patterns.clear();
  const expression = loadRe2().RE2JS.compile(pattern);
  patterns.set(pattern, expression);
  return expression;
}

export function isSameSigner(a: Signer, b: Signer): boolean {
  if (a.type === 'key' || b.type === 'key') {
    return a.type === 'key' && b.type === 'key' && a.fingerprint === b.fingerprint;
  }
  return a.issuer === b.issuer && a.subject === b.subject;
}

export function describeSigner(signer: Signer): string {
  return signer.type === 'key' ? `the key ${signer.fingerprint}` : `${signer.subject} (${signer.issuer})`;
}

/** Describes a trusted signer: a key, a subject, or a subject pattern. */
export function describeTrusted(signer: TrustedSigner): string {
  if ('fingerprint' in signer) return `the key ${signer.fingerprint}`;
  return `${'subject' in signer ? signer.subject : signer.subjectPattern} (${signer.issuer})`;
}

function describeExpectedSigners(policies: readonly SigningPolicy[]): string {
  const [first, ...rest] = policies.flatMap(({ signers }) => signers);
  if (first === undefined) return 'a signature';
  const others = rest.length === 0 ? '' : ` or one of ${rest.length} other signers`;
  return `a signature by ${describeTrusted(first)}${others}`;
}
