import {
  anySigner,
  applicablePolicies,
  evaluateSignatures,
  type JudgedSignature,
  type ReleaseAttestation,
  requiredAs,
  type SigningPolicy,
} from '@krmhub/catalog';
import type { Digest, FunctionName } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import {
  type CheckName,
  hasSubject,
  readReleaseClaim,
  SIGNATURE_PREDICATE,
  type SignedRelease,
  type Signer,
  type Statement,
  signatureStatement,
  summarizeAttestation,
  type Verification,
} from '@krmhub/signing';

/** The artifact to decide about, as it describes itself. */
export interface Subject {
  definitions: readonly FunctionName[];
  /** Why the definition in it cannot be read. */
  unreadable?: string;
  /** Digest of the definition, if there is exactly one. */
  definition?: Digest;
  /** The function that the repository in a krmhub registry belongs to; its kind is in lower case. */
  repository?: FunctionName;
  /** The release, named by the user in the tag or only by the artifact. */
  release?: { name: string; by: 'user' | 'artifact' };
  manifests: SignedRelease['manifests'];
}

/** What must be signed, and the policies that name the signers. */
export type Plan =
  | { judge: 'release'; policies: SigningPolicy[]; release: SignedRelease }
  /** Only the bytes. */
  | { judge: 'bytes'; policies: SigningPolicy[] }
  /** No policy covers the artifact. */
  | { judge: 'nothing'; reason: string }
  | { judge: 'refused'; reason: string };

/** A bundle and the result of its verification. */
export interface Evidence {
  source: string;
  /** For a signature without a statement: the digest of the signed manifest. */
  manifest?: string;
  verification: Verification;
}

export interface BundleVerdict {
  source: string;
  trusted: boolean;
  /** What decided: the signer, what it names, or what it covers. */
  check: Extract<CheckName, 'subject' | 'identity' | 'name'>;
  /** The policy, or why the bundle is not trusted. */
  message: string;
  /** The bundle is no signature, but an attestation that the policy requires. */
  isRequired?: true;
}

export type Judgement =
  | {
      trusted: true;
      signer: Signer;
      /** The other signers that the policy requires. */
      cosigners: Signer[];
      policy: string;
      /** True if the manifest is signed, with everything in it; false if only the definition is. */
      whole: boolean;
      bundles: BundleVerdict[];
    }
  | { trusted: false; reason: string; bundles: BundleVerdict[] };

/** Plans which signatures are required. `policy` is the policy that the user requires, if any. */
export function planJudgement(
  all: readonly SigningPolicy[],
  subject: Subject,
  { policy }: { policy?: string } = {},
): Plan {
  const { definitions, unreadable, repository, release } = subject;
  // The other policies still list revoked signers.
  const policies =
    policy === undefined ? [...all] : all.map((one) => (one.name === policy ? one : { ...one, groups: [] }));
  const owner = repository?.group;
  const [only] = definitions;
  const groups = [...definitions.map(({ group }) => group), ...(owner === undefined ? [] : [owner])];
  const covering = groups.flatMap((group) => policiesForGroup(policies, group));
  if (unreadable !== undefined && all.length > 0) return refusedPlan(unreadable);
  if (only === undefined) {
    if (covering.length > 0) {
      return refusedPlan(`it contains no definition, but its repository belongs to the group ${owner}`);
    }
    if (policy !== undefined) {
      const misplaced = misplacedReason(subject);
      return misplaced === undefined
        ? { judge: 'bytes', policies: withAnyGroup(policies, policy) }
        : refusedPlan(misplaced);
    }
    return noPolicyPlan('it has no group, so no policy can cover it');
  }
  if (covering.length === 0) {
    const which = [...new Set(groups)].join(', ');
    return policy === undefined
      ? noPolicyPlan(`no policy covers the group ${which}`)
      : refusedPlan(`the policy ${policy} does not cover the group ${which}`);
  }
  if (definitions.length > 1)
    return refusedPlan(`it contains ${definitions.length} definitions, expected one`);
  const { group, kind } = only;
  const misplaced = misplacedReason(subject);
  if (misplaced !== undefined) return refusedPlan(misplaced);
  if (release === undefined || subject.definition === undefined) {
    return refusedPlan(`the release of ${group}/${kind} is unknown`);
  }
  const name = { group: lowerCaseGroup(group), release: release.name };
  if (applicablePolicies(policies, name).length === 0) {
    const claimed = `${group}/${kind}@${release.name}`;
    // An attacker who can replace the artifact could name a release that needs no signature.
    if (release.by === 'artifact')
      return refusedPlan(`its signature is for ${claimed}, but no policy covers its group`);
    return policy === undefined
      ? noPolicyPlan(`no policy covers ${claimed}`)
      : refusedPlan(`the policy ${policy} does not cover ${claimed}`);
  }
  const { definition, manifests } = subject;
  return {
    judge: 'release',
    policies,
    release: { group, kind, release: release.name, definition, manifests },
  };
}

/** Returns why an artifact does not belong in its repository, which is of one function; undefined if it does. */
export function misplacedReason({ definitions, repository }: Subject): string | undefined {
  if (repository === undefined) return undefined;
  const owner = `${repository.group}/${repository.kind}`;
  const [only] = definitions;
  if (only === undefined) return `it contains no definition, but its repository belongs to ${owner}`;
  if (definitions.length > 1) return `it contains ${definitions.length} definitions, expected one`;
  const { group, kind } = only;
  if (group === repository.group && kind.toLowerCase() === repository.kind) return undefined;
  return `it contains the definition of ${group}/${kind}, but the repository belongs to ${owner}`;
}

/**
 * Evaluates bundles. Invalid ones do not count, because an attacker can add them. `at` is the current time.
 * `partial` is why a signature of only the definition is not enough; absent where it is.
 */
export function judgeEvidence(
  plan: Extract<Plan, { judge: 'release' | 'bytes' }>,
  evidence: readonly Evidence[],
  at: string,
  partial?: string,
): Judgement {
  const name =
    plan.judge === 'release'
      ? { ...plan.release, group: lowerCaseGroup(plan.release.group) }
      : { group: ANY_GROUP, kind: '', release: '0.0.0' };
  const judged = evidence.map((one): JudgedEvidence => {
    const { source, verification } = one;
    const refused = (check: BundleVerdict['check'], message: string) => ({
      verdict: { source, trusted: false, check, message },
    });
    const result = evaluateEvidence(one, plan, at);
    if ('reason' in result) {
      const { reason, attestation } = result;
      return { ...refused('name', reason), ...defined({ attestation }) };
    }
    const { signedAt } = verification;
    const signature = {
      signer: result.signer,
      receivedAt: at,
      isWhole: result.whole,
      ...defined({ signedAt }),
    };
    const verdict = evaluateSignatures(anySigner(plan.policies), name, [signature]);
    if (verdict?.trusted !== true)
      return { ...refused('identity', verdict?.reason ?? 'no policy covers the release'), signature };
    if (!result.whole && partial !== undefined) return refused('subject', partial);
    const message = `trusted by the policy ${verdict.policy}`;
    return { verdict: { source, trusted: true, check: 'identity' as const, message }, signature };
  });
  const bundles = judged.map(({ verdict }) => verdict);
  const signatures = judged.flatMap(({ signature }) => signature ?? []);
  const attestations = judged.flatMap(({ attestation }) => attestation ?? []);
  const whole = evaluateSignatures(
    plan.policies,
    name,
    signatures.filter(({ isWhole }) => isWhole === true),
    { attestations },
  );
  const verdict =
    whole?.trusted === true ? whole : evaluateSignatures(plan.policies, name, signatures, { attestations });
  if (verdict?.trusted === true) {
    const { signer, cosigners, policy } = verdict;
    const by = plan.policies.find(({ name }) => name === policy)!;
    const used = judged.map((one) => requiredVerdict(one, by) ?? one.verdict);
    return { trusted: true, signer, cosigners, policy, whole: whole?.trusted === true, bundles: used };
  }
  const reason = verdict?.reason ?? 'it is not signed';
  if (bundles.length === 0) return { trusted: false, reason, bundles };
  // With some trusted bundles, the policy requires more than that.
  if (bundles.some(({ trusted }) => trusted)) return { trusted: false, reason, bundles };
  const each =
    bundles.length === 1 ? bundles[0]!.message : `none of its ${bundles.length} bundles is trusted`;
  return { trusted: false, reason: each, bundles };
}

/** What one bundle proves. */
interface JudgedEvidence {
  verdict: BundleVerdict;
  signature?: JudgedSignature;
  attestation?: ReleaseAttestation;
}

/** Returns the verdict on an attestation that the policy requires; undefined for another bundle. */
function requiredVerdict(
  { verdict: { source }, attestation }: JudgedEvidence,
  policy: SigningPolicy,
): BundleVerdict | undefined {
  const as = attestation && requiredAs(policy, attestation);
  if (as === undefined) return undefined;
  const message = `required by the policy ${policy.name}: ${as}`;
  return { source, trusted: true, check: 'identity', message, isRequired: true };
}

const ANY_GROUP = 'any';

type EvaluatedEvidence =
  | { signer: Signer; whole: boolean }
  /** Why it is no signature, and what it is instead. */
  | { reason: string; attestation?: ReleaseAttestation };

function evaluateEvidence(
  { verification, manifest }: Evidence,
  plan: Extract<Plan, { judge: 'release' | 'bytes' }>,
  at: string,
): EvaluatedEvidence {
  const { verified, checks, signer, signedAt } = verification;
  if (!verified || signer === undefined) {
    const failed = checks.find(({ passed }) => !passed);
    return { reason: failed === undefined ? 'the bundle is corrupt' : `${failed.check}: ${failed.message}` };
  }
  const statement =
    verification.statement ?? (manifest === undefined ? undefined : signatureStatement({ manifest }));
  const attested = (found: Statement): EvaluatedEvidence => {
    const { predicateType } = found;
    const summary = summarizeAttestation(found);
    if (typeof summary === 'string') return { reason: summary };
    return {
      reason: `it is an attestation (${predicateType}), not a signature`,
      attestation: { predicateType, signer, receivedAt: at, ...defined({ signedAt }), ...summary },
    };
  };
  if (plan.judge === 'bytes') {
    if (statement === undefined || statement.predicateType === SIGNATURE_PREDICATE)
      return { signer, whole: true };
    return attested(statement);
  }
  const claim = readReleaseClaim({ ...verification, ...defined({ statement }) }, plan.release);
  if (claim.claim === 'none') return { reason: claim.reason };
  if (claim.claim === 'attestation') return attested(statement!);
  const manifests = plan.release.manifests.map(({ digest }) => digest);
  return { signer, whole: statement !== undefined && hasSubject(statement, manifests) };
}

/** Groups are in lower case. Upper case must not bypass a policy. */
function lowerCaseGroup(group: string): string {
  return group.toLowerCase();
}

function policiesForGroup(policies: readonly SigningPolicy[], group: string): SigningPolicy[] {
  const anyRelease = policies.map(({ releases: _, ...policy }) => policy);
  return applicablePolicies(anyRelease, { group: lowerCaseGroup(group), release: '0.0.0' });
}

function withAnyGroup(policies: readonly SigningPolicy[], chosen: string): SigningPolicy[] {
  return policies.map((policy) => {
    if (policy.name !== chosen) return policy;
    const { releases: _, ...rest } = policy;
    return { ...rest, groups: ['*'] };
  });
}

function refusedPlan(reason: string): Plan {
  return { judge: 'refused', reason };
}

function noPolicyPlan(reason: string): Plan {
  return { judge: 'nothing', reason };
}
