import {
  type Check,
  failed,
  passed,
  RELEASE_PREDICATE,
  SIGNATURE_PREDICATE,
  type Signer,
  SNAPSHOT_PREDICATE,
  type TrustedRoot,
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
export function judgeBundle(found: FoundBundle, expected: ExpectedSigner, root: TrustedRoot): JudgedBundle {
  const { verified, checks, signer, signedAt, statement } = found.verify({ keys: expected.keys, root });
  const identity = verified && signer !== undefined ? expected.judge(signer) : undefined;
  const type = statement?.predicateType;
  const release = type === RELEASE_PREDICATE ? releaseIn(statement!.predicate) : undefined;
  return {
    source: found.source,
    kind: type === undefined || SIGNATURES.includes(type) ? 'signature' : 'attestation',
    verified: identity?.passed === true,
    ...(type === undefined ? {} : { predicateType: type }),
    ...(release === undefined ? {} : { release }),
    ...(signer === undefined ? {} : { signer }),
    ...(signedAt === undefined ? {} : { signedAt }),
    checks:
      identity === undefined
        ? checks
        : [...checks, (identity.passed ? passed : failed)('identity', identity.message)],
  };
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
