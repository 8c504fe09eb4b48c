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

/** What was found of a bundle, as JSON has it. */
export interface JudgedBundle {
  source: string;
  /** Whether it says that the artifact is signed, or something else of it. */
  kind: 'signature' | 'attestation';
  verified: boolean;
  predicateType?: string;
  /** Which release a publisher says that it is. */
  release?: string;
  /** Known where everything but who it should be holds. */
  signer?: Signer;
  signedAt?: string;
  checks: Check[];
}

/** Statements that say no more than what the artifact is. */
const SIGNATURES = [SIGNATURE_PREDICATE, RELEASE_PREDICATE, SNAPSHOT_PREDICATE];

/** Holds a bundle against the root, and who signed against who should have. */
export function judgeBundle(
  found: FoundBundle,
  expected: ExpectedSigner,
  root: TrustedRoot,
  place?: ReleasePlace,
): JudgedBundle {
  const verification = found.verify({ keys: expected.keys, root });
  const { verified, signer, statement } = verification;
  if (!verified || signer === undefined) return describeBundle(found.source, verification, []);
  const identity = expected.judge(signer);
  const stray = place === undefined || statement === undefined ? undefined : strayRelease(statement, place);
  return describeBundle(found.source, verification, [
    (identity.passed ? passedCheck : failedCheck)('identity', identity.message),
    ...(stray === undefined ? [] : [failedCheck('statement', stray)]),
  ]);
}

/** What was found of a bundle; it is verified where `judged`, what its signer was held against, all holds. */
export function describeBundle(
  source: string,
  { checks, signer, signedAt, statement }: Verification,
  judged: readonly Check[],
): JudgedBundle {
  const type = statement?.predicateType;
  const release = type === RELEASE_PREDICATE ? releaseIn(statement!.predicate) : undefined;
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

/** The release that stands at a tag of a krmhub registry. */
export interface ReleasePlace {
  group: string;
  /** In lower case. */
  kind: string;
  release: string;
}

/** Why the signature of a release is not that of the one that was asked for. */
export function strayRelease(
  { predicateType, predicate }: Statement,
  place: ReleasePlace,
): string | undefined {
  if (predicateType !== RELEASE_PREDICATE) return undefined;
  const { group, kind, release } = predicate;
  const own =
    group === place.group &&
    typeof kind === 'string' &&
    kind.toLowerCase() === place.kind &&
    release === place.release;
  if (own) return undefined;
  const said = releaseIn(predicate) ?? 'no release';
  return `it is the signature of ${said}, and ${place.group}/${place.kind}@${place.release} was asked for`;
}

/** Whether it is what was asked for: a signature, statements of one type, or any. */
export function isWanted({ kind, predicateType }: JudgedBundle, type: string | undefined): boolean {
  if (type === undefined) return kind === 'signature';
  return type === 'any' || predicateType === type;
}

function releaseIn({ group, kind, release }: Record<string, unknown>): string | undefined {
  const parts = [group, kind, release];
  return parts.every((part) => typeof part === 'string') ? `${group}/${kind}@${release}` : undefined;
}
