import { describeSource } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import { plural } from '@krmhub/schema/text';
import {
  type Check,
  failedCheck,
  passedCheck,
  RELEASE_PREDICATE,
  readTestResult,
  SIGNATURE_PREDICATE,
  type Signer,
  SNAPSHOT_PREDICATE,
  type Statement,
  signedRelease,
  TEST_RESULT_PREDICATE,
  type TrustedRoot,
  type Verification,
} from '@krmhub/signing';
import { checkName, type NamedArtifact } from './check-name.js';
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
  /** What a verified bundle was built from, in one line. Foreign text. */
  builtFrom?: string;
  signedAt?: string;
  checks: Check[];
}

/** Predicate types that state only what the artifact is. */
const SIGNATURES = [SIGNATURE_PREDICATE, RELEASE_PREDICATE, SNAPSHOT_PREDICATE];

/**
 * Verifies a bundle against the trusted root, its signer against the expected one, and its name against the artifact.
 */
export function judgeBundle(
  found: FoundBundle,
  expected: ExpectedSigner,
  root: TrustedRoot,
  named: NamedArtifact,
): JudgedBundle {
  const verification = found.verify({ keys: expected.keys, root });
  const { verified, signer, statement } = verification;
  if (!verified || signer === undefined) return describeBundle(found.source, verification, []);
  const identity = expected.judge(signer);
  const name = checkName(statement, named);
  const result = statement === undefined ? undefined : checkResult(statement);
  return describeBundle(found.source, verification, [
    (identity.passed ? passedCheck : failedCheck)('identity', identity.message),
    ...(name === undefined ? [] : [name]),
    ...(result === undefined ? [] : [result]),
  ]);
}

/** Of a report of tests: it proves something only if they passed. Returns undefined for other statements. */
function checkResult(statement: Statement): Check | undefined {
  if (statement.predicateType !== TEST_RESULT_PREDICATE) return undefined;
  const read = readTestResult(statement);
  if (typeof read === 'string') return failedCheck('result', read);
  const { result, passedTests, warnedTests, failedTests } = read;
  const total = passedTests.length + warnedTests.length + failedTests.length;
  if (result === 'FAILED') {
    const [first = 'not named'] = failedTests;
    return failedCheck('result', `${failedTests.length} of ${plural(total, 'test')} failed, first: ${first}`);
  }
  const warned = warnedTests.length === 0 ? '' : `, ${warnedTests.length} with warnings`;
  return passedCheck('result', `${plural(total, 'test')} passed${warned}`);
}

/** Returns what the bundle is verified to be of: a release or a snapshot; undefined for bytes without a name. */
export function verifiedName({ checks }: JudgedBundle): string | undefined {
  return checks.find(({ check, passed }) => check === 'name' && passed)?.message;
}

/** Describes a bundle. It is verified if every check in `judged`, of its signer and its name, passed. */
export function describeBundle(
  source: string,
  { checks, signer, signedAt, statement }: Verification,
  judged: readonly Check[],
): JudgedBundle {
  const type = statement?.predicateType;
  const signed = statement === undefined ? undefined : signedRelease(statement);
  const verified = judged.length > 0 && judged.every((check) => check.passed);
  const built = verified && signer?.type === 'identity' ? describeSource(signer.source) : undefined;
  return {
    source,
    kind: type === undefined || SIGNATURES.includes(type) ? 'signature' : 'attestation',
    verified,
    ...defined({
      predicateType: type,
      release: signed === undefined ? undefined : `${signed.group}/${signed.kind}@${signed.release}`,
      signer,
      builtFrom: built,
      signedAt,
    }),
    checks: [...checks, ...judged],
  };
}

/** Reports whether a bundle has the requested type: a signature, one predicate type, reports of tests, or any. */
export function matchesType({ kind, predicateType }: JudgedBundle, type: string | undefined): boolean {
  if (type === undefined) return kind === 'signature';
  return type === 'any' || predicateType === (type === 'tests' ? TEST_RESULT_PREDICATE : type);
}
