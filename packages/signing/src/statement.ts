import { type Digest, type FunctionName, PROFILES, type Profile, SNAPSHOT_RENDITIONS } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { z } from 'zod';
import { SIGNING_LIMITS } from './limits.js';

/** Payload type of in-toto statements in DSSE envelopes (in-toto attestation framework, envelope layer). */
export const IN_TOTO_MEDIA_TYPE = 'application/vnd.in-toto+json';
export const STATEMENT_TYPE = 'https://in-toto.io/Statement/v1';
/** Provenance of older npm packages and GitHub actions has v0.1. */
const STATEMENT_TYPES = [STATEMENT_TYPE, 'https://in-toto.io/Statement/v0.1'] as const;

/** Predicate: these bytes are this release of this function. */
export const RELEASE_PREDICATE = 'https://krmhub.dev/release/v1';
/** Predicate: these bytes are this snapshot of this catalog, until it expires. */
export const SNAPSHOT_PREDICATE = 'https://krmhub.dev/snapshot/v1';
/** Predicate of `cosign sign`: a plain signature of the bytes. */
export const SIGNATURE_PREDICATE = 'https://sigstore.dev/cosign/sign/v1';

/** Name of the manifest in the subjects of a release. */
export const MANIFEST_SUBJECT = 'manifest';

export interface StatementSubject {
  name?: string;
  /** Hexadecimal, by algorithm. */
  digest: Record<string, string>;
}

/** An in-toto statement: the signer claims the predicate for every subject. */
export interface Statement {
  _type: (typeof STATEMENT_TYPES)[number];
  subject: StatementSubject[];
  predicateType: string;
  predicate: Record<string, unknown>;
}

const Subject = z.object({
  name: z.string().optional(),
  digest: z.record(z.string(), z.string().regex(/^[a-f0-9]+$/)),
});
const StatementShape = z.object({
  _type: z.enum(STATEMENT_TYPES),
  subject: z.array(Subject).min(1).max(SIGNING_LIMITS.maxSubjects),
  predicateType: z.string().min(1).max(1_024),
  // Not validated: predicates of attestations may be large.
  predicate: z.custom<Record<string, unknown>>(isMapping, 'Invalid input: expected an object').default({}),
});

/** Parses a statement, or returns the reason why it is invalid. */
export function readStatement(payload: Uint8Array): Statement | string {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload));
  } catch {
    return 'the signed payload is not valid JSON';
  }
  if (hasTooManyDigests(json)) {
    return `the signed payload is not an in-toto statement: a subject has more than ${SIGNING_LIMITS.maxDigests} digests`;
  }
  const { data, error } = StatementShape.safeParse(json);
  if (data !== undefined) return data as Statement;
  const issue = error.issues[0]!;
  const where = issue.path.join('.') || 'the document root';
  return `the signed payload is not an in-toto statement: ${where}: ${issue.message}`;
}

export function isMapping(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Checked before the schema, which would create an error for each digest. */
function hasTooManyDigests(json: unknown): boolean {
  const { subject } = (json ?? {}) as { subject?: unknown };
  if (!Array.isArray(subject) || subject.length > SIGNING_LIMITS.maxSubjects) return false;
  return subject.some((one: unknown) => {
    const { digest } = (one ?? {}) as { digest?: unknown };
    return typeof digest === 'object' && Object.keys(digest ?? {}).length > SIGNING_LIMITS.maxDigests;
  });
}

export function encodeStatement(statement: Statement): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(statement));
}

export function hasSubject(statement: Statement, digests: readonly string[]): boolean {
  const wanted = new Set(digests);
  return statement.subject.some(({ digest }) =>
    Object.entries(digest).some(([algorithm, hex]) => wanted.has(`${algorithm}:${hex}`)),
  );
}

/** Builds the statement that a publisher signs: the definition and the manifest of the release. */
export function releaseStatement(
  { group, kind, release }: FunctionName & { release: string },
  digests: { definition: Digest; manifest?: string },
): Statement {
  return {
    _type: STATEMENT_TYPE,
    // cosign verifies manifests and prints the first subject.
    subject: [
      ...(digests.manifest === undefined ? [] : [namedSubject(MANIFEST_SUBJECT, digests.manifest)]),
      namedSubject('definition', digests.definition),
    ],
    predicateType: RELEASE_PREDICATE,
    predicate: { group, kind, release },
  };
}

export interface SnapshotClaim {
  catalog: string;
  serial: number;
  /** Digest of the previous snapshot's catalog.yaml; null for the first. */
  previous: string | null;
  /** RFC 3339: until then the snapshot may be trusted to be the newest one. */
  expires: string;
  /** RFC 3339: when the registry stated that the snapshot is the newest one. Absent in older statements. */
  signedAt?: string;
}

/** Names of a profile of a snapshot and of its report, in the subjects of the snapshot's statement. */
export function profileSubjects(profile: Profile): { document: string; report: string } {
  return { document: `profiles/${profile}`, report: `profiles/${profile}.json` };
}

/** Names of the subjects that are a catalog, in the words of this registry or of another tool. */
export const CATALOG_SUBJECTS: readonly string[] = [
  ...SNAPSHOT_RENDITIONS,
  ...PROFILES.map((profile) => profileSubjects(profile).document),
];

/** Builds the statement that a registry signs: `snapshot.json`, renditions, profiles and the manifest, by name. */
export function snapshotStatement(
  claim: SnapshotClaim,
  digests: Readonly<Record<string, string>>,
): Statement {
  const { catalog, serial, previous, expires, signedAt } = claim;
  return {
    _type: STATEMENT_TYPE,
    subject: Object.entries(digests).map(([name, digest]) => namedSubject(name, digest)),
    predicateType: SNAPSHOT_PREDICATE,
    predicate: { catalog, serial, previous, expires, ...defined({ signedAt }) },
  };
}

const SnapshotPredicate = z.strictObject({
  catalog: z.string(),
  serial: z.int().min(1),
  previous: z.string().nullable(),
  expires: z.iso.datetime(),
  signedAt: z.iso.datetime().optional(),
});

/** Returns the snapshot claim of a statement; undefined if it is invalid or another predicate. */
export function readSnapshotClaim(statement: Statement): SnapshotClaim | undefined {
  if (statement.predicateType !== SNAPSHOT_PREDICATE) return undefined;
  return SnapshotPredicate.safeParse(statement.predicate).data as SnapshotClaim | undefined;
}

/** Builds the statement of a plain signature, like `cosign sign`. */
export function signatureStatement(digests: Readonly<Record<string, string>>): Statement {
  return {
    _type: STATEMENT_TYPE,
    subject: Object.entries(digests).map(([name, digest]) => namedSubject(name, digest)),
    predicateType: SIGNATURE_PREDICATE,
    predicate: {},
  };
}

/** Builds the statement of an attestation: provenance, a bill of materials, test results. */
export function predicateStatement(
  { name, digest }: { name?: string; digest: string },
  predicateType: string,
  predicate: Record<string, unknown>,
): Statement {
  const named = namedSubject(name ?? '', digest);
  return {
    _type: STATEMENT_TYPE,
    subject: [name === undefined ? { digest: named.digest } : named],
    predicateType,
    predicate,
  };
}

/** Returns a subject for a digest `ALGORITHM:HEX`. */
export function namedSubject(name: string, digest: string): StatementSubject {
  const separator = digest.indexOf(':');
  return { name, digest: { [digest.slice(0, separator)]: digest.slice(separator + 1) } };
}
