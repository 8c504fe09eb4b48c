/**
 * Signing policies: which signers may sign the releases of which functions.
 *
 * @module
 */

import {
  ATTESTATION_TYPES,
  type AttestationType,
  type Digest,
  matchesGlob,
  type PublicKey,
  readPublicKey,
  type SourceRequirements,
} from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { loadRe2 } from '@krmhub/schema/libraries/lazy-libraries';
import semver from 'semver';
import type { Signer, Time } from '../ports/records.js';
import { describeRequirements, sourceProblems } from './source-requirements.js';

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
  /** Attestations that one policy requires. */
  maxAttestations: 20,
  /** Catalogs of one CatalogTrust: each of them is compared with every reference. */
  maxCatalogs: 100,
  /** Subject patterns of all policies. The slowest pattern takes some milliseconds to compile. */
  maxPatterns: 100,
  /** Length of a subject pattern, in UTF-16 code units. */
  maxPatternLength: 256,
  /** Length of a name, a glob, or a subject, in UTF-16 code units. A PEM key has up to 800. */
  maxTextLength: 2_048,
} as const;

/** How many signers must sign. At most one of the two is present; without any, one is sufficient. */
export interface SignerThreshold {
  /** How many of the signers must sign. */
  atLeast?: number;
  /** Whether every signer that is not revoked must sign. */
  requireAll?: true;
}

/** The trusted signers for the releases of functions. */
export interface SigningPolicy extends SignerThreshold {
  /** A DNS label. */
  name: string;
  /** Globs. `*` matches any characters. */
  groups: string[];
  /** An npm semver range, including pre-releases. Absent for every release. */
  releases?: string;
  /** The signers. One of them is sufficient, unless the policy says otherwise. */
  signers: TrustedSigner[];
  /** Attestations that a release must have, all of them. */
  attestations?: RequiredAttestation[];
  /** Signers of test reports only: they are not trusted for releases. The signers may report tests, too. */
  testers?: TrustedSigner[];
}

/** An attestation that a policy requires. */
export type RequiredAttestation = (
  | { type: 'provenance'; builder: string; repository: string }
  | { type: Exclude<AttestationType, 'provenance'> }
) & {
  /** Who can sign it. Absent for the signers of the policy, and for test reports also its testers. */
  signers?: TrustedSigner[];
};

/** When signatures count. */
export interface Validity {
  /** Only signatures from this time. */
  validFrom?: Time;
  /** Only signatures before this time. */
  validUntil?: Time;
}

export type TrustedSigner = (
  | { key: string; fingerprint: Digest }
  /** Without a subject, the source names the signer. */
  | ({ issuer: string; subject?: string; subjectPattern?: string } & SourceRequirements)
) &
  Validity & {
    /** The reason why none of its signatures is trusted, old or new. */
    revoked?: string;
  };

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

/** How many signers a policy requires, in its own form or in that of the API. */
interface Threshold extends SignerThreshold {
  signers: readonly { revoked?: string | undefined }[];
}

/** Returns how many of its signers a policy requires. */
export function signatureThreshold({ signers, atLeast = 1, requireAll }: Threshold): number {
  const valid = signers.filter(({ revoked }) => revoked === undefined).length;
  return Math.max(1, requireAll === true ? valid : atLeast);
}

/** Returns how many signers must sign together; undefined if one of them is sufficient. */
export function describeThreshold(policy: Threshold): string | undefined {
  const required = signatureThreshold(policy);
  if (policy.requireAll === true) return 'every signer must sign';
  return required === 1 ? undefined : `at least ${required} of the signers must sign`;
}

/** Returns an attestation that a policy requires, as text. */
export function describeAttestation(required: {
  type: string;
  builder?: string | undefined;
  repository?: string | undefined;
}): string {
  const { type, builder, repository } = required;
  const what = (ATTESTATION_TYPES as Partial<Record<string, string>>)[type] ?? type;
  return builder === undefined ? what : `${what} by the builder ${builder} for ${repository}`;
}

/** Returns what a release needs in addition to one signature, in parts. */
export function describeConditions(
  policy: Threshold & { attestations?: readonly { type: string }[] | undefined },
): string[] {
  const threshold = describeThreshold(policy);
  return [
    ...(threshold === undefined ? [] : [threshold]),
    ...(policy.attestations ?? []).map((one) => `it must have ${describeAttestation(one)}`),
  ];
}

/** Returns policies that each of their signers can satisfy alone, to judge one signature or report. */
export function anySigner(policies: readonly SigningPolicy[]): SigningPolicy[] {
  return policies.map(({ atLeast: _, requireAll: __, attestations: ___, ...policy }) => policy);
}

/** Returns policies without the test reports that they require, which are made of a published release. */
export function beforeTests(policies: readonly SigningPolicy[]): SigningPolicy[] {
  return policies.map((policy) => ({
    ...policy,
    ...defined({ attestations: policy.attestations?.filter(({ type }) => type !== 'tests') }),
  }));
}

/** Returns the signers of test reports. */
export function testSigners({ signers, testers = [] }: SigningPolicy): TrustedSigner[] {
  return [...signers, ...testers];
}

/** Returns the policies for test reports, which testers may sign, too. */
export function testReportPolicies(policies: readonly SigningPolicy[]): SigningPolicy[] {
  return anySigner(policies).map((policy) => ({ ...policy, signers: testSigners(policy) }));
}

/** Returns the signers of releases, of test reports, and of other attestations. */
export function allSigners(policy: SigningPolicy): TrustedSigner[] {
  const { attestations = [] } = policy;
  return [...testSigners(policy), ...attestations.flatMap(({ signers = [] }) => signers)];
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

/** Reports whether a signer has the key or the subject of a trusted one, and the source that it requires. */
export function matchesSigner(trusted: TrustedSigner, signer: Signer): boolean {
  if (!matchesName(trusted, signer)) return false;
  if ('fingerprint' in trusted || signer.type === 'key') return true;
  return sourceProblems(trusted, signer.source).length === 0;
}

/** Like `matchesSigner`, for any source. */
export function matchesName(trusted: TrustedSigner, signer: Signer): boolean {
  if ('fingerprint' in trusted) return signer.type === 'key' && signer.fingerprint === trusted.fingerprint;
  if (signer.type !== 'identity' || signer.issuer !== trusted.issuer) return false;
  const { subject, subjectPattern } = trusted;
  if (subject !== undefined) return signer.subject === subject;
  return subjectPattern === undefined || compilePattern(subjectPattern).matches(signer.subject);
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
  return a.issuer === b.issuer && a.subject === b.subject && reusedName(a, b) === undefined;
}

/** The IDs of a source: others belong to another one, even if it has the same name. */
const SOURCE_IDS = ['sourceRepositoryIdentifier', 'sourceRepositoryOwnerIdentifier'] as const;

/** Returns how the sources of two identities differ by an ID that both certificates state; undefined if they do not. */
export function reusedName(a: Signer, b: Signer): string | undefined {
  if (a.type === 'key' || b.type === 'key') return undefined;
  const different = SOURCE_IDS.find((id) => {
    const [one, other] = [a.source?.[id], b.source?.[id]];
    return one !== undefined && other !== undefined && one !== other;
  });
  if (different === undefined) return undefined;
  const what = different === 'sourceRepositoryIdentifier' ? 'repository' : 'owner';
  return `another ${what} with the same name: its ID is ${a.source?.[different]}, not ${b.source?.[different]}`;
}

export function describeSigner(signer: Signer): string {
  return signer.type === 'key' ? `the key ${signer.fingerprint}` : `${signer.subject} (${signer.issuer})`;
}

/** Describes a trusted signer: a key, or a subject or a subject pattern, and the source that it requires. */
export function describeTrusted(signer: TrustedSigner): string {
  if ('fingerprint' in signer) return `the key ${signer.fingerprint}`;
  const { subject, subjectPattern, issuer } = signer;
  const source = describeRequirements(signer);
  const name = `${subject ?? subjectPattern ?? 'any subject'} (${issuer})`;
  return source === '' ? name : `${name} with ${source}`;
}
