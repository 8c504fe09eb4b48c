import {
  type Check,
  failedCheck,
  passedCheck,
  RELEASE_PREDICATE,
  SIGNATURE_PREDICATE,
  type Signer,
  SNAPSHOT_PREDICATE,
  type Statement,
  type TrustedRoot,
  type Verification,
} from '@krmhub/signing';
import type { ExpectedSigner } from './expected-signer.js';
import type { FoundBundle } from './found-bundle.js';

/** The result for one bundle, as JSON output has it. */
export interface JudgedBundle {
  source: string;
  /** A signature states only what the artifact is; an attestation states something else about it. */
  kind: 'signature' | 'attestation';
  verified: boolean;
  predicateType?: string;
  /** The release that the signature names. */
  release?: string;
  /** Present if every check before the identity passed. */
  signer?: Signer;
  signedAt?: string;
  checks: Check[];
}

/** Predicate types that state only what the artifact is. */
const SIGNATURES = [SIGNATURE_PREDICATE, RELEASE_PREDICATE, SNAPSHOT_PREDICATE];

/** Verifies a bundle against the trusted root, and its signer against the expected one. */
export function judgeBundle(
  found: FoundBundle,
  expected: ExpectedSigner,
  root: TrustedRoot,
  requested?: NamedRelease,
): JudgedBundle {
  const verification = found.verify({ keys: expected.keys, root });
  const { verified, signer, statement } = verification;
  if (!verified || signer === undefined) return describeBundle(found.source, verification, []);
  const identity = expected.judge(signer);
  const mismatch =
    requested === undefined || statement === undefined ? undefined : releaseMismatch(statement, requested);
  return describeBundle(found.source, verification, [
    (identity.passed ? passedCheck : failedCheck)('identity', identity.message),
    ...(mismatch === undefined ? [] : [failedCheck('statement', mismatch)]),
  ]);
}

/** Describes a bundle. It is verified if every check in `judged`, the checks of its signer, passed. */
export function describeBundle(
  source: string,
  { checks, signer, signedAt, statement }: Verification,
  judged: readonly Check[],
): JudgedBundle {
  const type = statement?.predicateType;
  const release = type === RELEASE_PREDICATE ? releaseName(statement!.predicate) : undefined;
  return {
    source,
    kind: type === undefined || SIGNATURES.includes(type) ? 'signature' : 'attestation',
    verified: judged.length > 0 && judged.every((check) => check.passed),
    ...(type === undefined ? {} : { predicateType: type }),
    ...(release === undefined ? {} : { release }),
    ...(signer === undefined ? {} : { signer }),
    ...(signedAt === undefined ? {} : { signedAt }),
    checks: [...checks, ...judged],
  };
}

/** The release that a tag of a krmhub registry names. */
export interface NamedRelease {
  group: string;
  /** In lower case. */
  kind: string;
  release: string;
}

/** Returns why a signature is for another release than the requested one; undefined where it is not. */
export function releaseMismatch(
  { predicateType, predicate }: Statement,
  requested: NamedRelease,
): string | undefined {
  if (predicateType !== RELEASE_PREDICATE) return undefined;
  const { group, kind, release } = predicate;
  const own =
    group === requested.group &&
    typeof kind === 'string' &&
    kind.toLowerCase() === requested.kind &&
    release === requested.release;
  if (own) return undefined;
  const signed = releaseName(predicate) ?? 'no release';
  return `signature of ${signed}, expected ${requested.group}/${requested.kind}@${requested.release}`;
}

/** Reports whether a bundle has the requested type: a signature, one predicate type, or any. */
export function matchesType({ kind, predicateType }: JudgedBundle, type: string | undefined): boolean {
  if (type === undefined) return kind === 'signature';
  return type === 'any' || predicateType === type;
}

function releaseName({ group, kind, release }: Record<string, unknown>): string | undefined {
  const parts = [group, kind, release];
  return parts.every((part) => typeof part === 'string') ? `${group}/${kind}@${release}` : undefined;
}
