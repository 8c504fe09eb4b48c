import { applicablePolicies, evaluateSignatures, type SigningPolicy } from '@krmhub/catalog';
import type { Digest, FunctionName } from '@krmhub/schema';
import {
  hasSubject,
  readReleaseClaim,
  SIGNATURE_PREDICATE,
  type SignedRelease,
  type Signer,
  signatureStatement,
  type Verification,
} from '@krmhub/signing';

/** The decision whether something is trusted, without any I/O: what has to be signed, and whether that is so. */

/** What somebody is about to use, as far as it says itself what it is. */
export interface Subject {
  definitions: readonly FunctionName[];
  /** Why it cannot be read whose definition it is, where it should be one. */
  unreadable?: string;
  /** Of the exact bytes of the one definition. */
  definition?: Digest;
  /** The function that a repository of a krmhub registry is of; its kind in lower case. */
  repository?: FunctionName;
  /** Asked for by who uses it, as a tag, or only said by what was found there. */
  release?: { name: string; by: 'user' | 'artifact' };
  manifests: SignedRelease['manifests'];
}

/** What has to be signed, and by whom. */
export type Plan =
  | { judge: 'release'; policies: SigningPolicy[]; release: SignedRelease }
  /** The bytes as such, whatever they are. */
  | { judge: 'bytes'; policies: SigningPolicy[] }
  /** Nobody has said whom to trust for this. */
  | { judge: 'nothing'; because: string }
  | { judge: 'refused'; reason: string };

/** What is held against the plan: a bundle, and what its verification found. */
export interface Evidence {
  source: string;
  /** Of a signature without a statement: the manifest that it is of. */
  manifest?: string;
  verification: Verification;
}

export interface BundleVerdict {
  source: string;
  trusted: boolean;
  /** By which policy, or why not. */
  message: string;
}

export type Judgement =
  | {
      trusted: true;
      signer: Signer;
      policy: string;
      /** Whether the manifest is signed, and so everything that it names, or the definition alone. */
      whole: boolean;
      bundles: BundleVerdict[];
    }
  | { trusted: false; reason: string; bundles: BundleVerdict[] };

/** `policy` is the one that has to hold, where the user names it. */
export function planJudgement(
  all: readonly SigningPolicy[],
  subject: Subject,
  { policy }: { policy?: string } = {},
): Plan {
  const { definitions, unreadable, repository, release } = subject;
  // The others still say who is revoked.
  const policies =
    policy === undefined ? [...all] : all.map((one) => (one.name === policy ? one : { ...one, groups: [] }));
  const owner = repository?.group;
  const [only] = definitions;
  const groups = [...definitions.map(({ group }) => group), ...(owner === undefined ? [] : [owner])];
  const covering = groups.flatMap((group) => coveringGroup(policies, group));
  if (unreadable !== undefined && all.length > 0) return refused(unreadable);
  if (only === undefined) {
    if (covering.length > 0) {
      return refused(`it holds no definition, and its repository is of functions of ${owner}`);
    }
    if (policy !== undefined) return { judge: 'bytes', policies: forAnything(policies, policy) };
    return nothing('it has no group that a policy could cover');
  }
  if (covering.length === 0) {
    const which = [...new Set(groups)].join(', ');
    return policy === undefined
      ? nothing(`no policy covers the group ${which}`)
      : refused(`the policy ${policy} does not cover the group ${which}`);
  }
  if (definitions.length > 1)
    return refused(`it holds ${definitions.length} definitions, and a release is one`);
  const { group, kind } = only;
  if (repository !== undefined && (group !== owner || kind.toLowerCase() !== repository.kind)) {
    return refused(
      `it is the definition of ${group}/${kind}, in the repository of ${owner}/${repository.kind}`,
    );
  }
  if (release === undefined || subject.definition === undefined) {
    return refused(`nothing says which release of ${group}/${kind} it is`);
  }
  const name = { group: folded(group), release: release.name };
  if (applicablePolicies(policies, name).length === 0) {
    const said = `${group}/${kind}@${release.name}`;
    // Whoever can put another artifact there could name a release that nobody has to sign.
    if (release.by === 'artifact')
      return refused(`it says that it is ${said}, which no policy of its group covers`);
    return policy === undefined
      ? nothing(`no policy covers ${said}`)
      : refused(`the policy ${policy} does not cover ${said}`);
  }
  const { definition, manifests } = subject;
  return {
    judge: 'release',
    policies,
    release: { group, kind, release: release.name, definition, manifests },
  };
}

/** One good bundle is enough, since whoever can add bundles could otherwise spoil an artifact. `at` is now. */
export function judgeEvidence(
  plan: Extract<Plan, { judge: 'release' | 'bytes' }>,
  evidence: readonly Evidence[],
  at: string,
): Judgement {
  const name =
    plan.judge === 'release'
      ? { ...plan.release, group: folded(plan.release.group) }
      : { group: ANY_GROUP, kind: '', release: '0.0.0' };
  const judged = evidence.map((one) => {
    const { source, verification } = one;
    const said = saidBy(one, plan);
    if ('reason' in said) return { verdict: { source, trusted: false, message: said.reason } };
    const { signedAt } = verification;
    const verdict = evaluateSignatures(plan.policies, name, [
      { signer: said.signer, receivedAt: at, ...(signedAt === undefined ? {} : { signedAt }) },
    ]);
    if (verdict?.trusted !== true) {
      return { verdict: { source, trusted: false, message: verdict?.reason ?? 'no policy covers it' } };
    }
    const { signer, policy } = verdict;
    return {
      verdict: { source, trusted: true, message: `by the policy ${policy}` },
      good: { signer, policy, whole: said.whole },
    };
  });
  const bundles = judged.map(({ verdict }) => verdict);
  const good = judged.flatMap(({ good }) => good ?? []);
  const best = good.find(({ whole }) => whole) ?? good[0];
  if (best !== undefined) return { trusted: true, ...best, bundles };
  const [first] = bundles;
  if (first === undefined) {
    const none = evaluateSignatures(plan.policies, name, []);
    return { trusted: false, reason: none?.trusted === false ? none.reason : 'it is not signed', bundles };
  }
  const reason = bundles.length === 1 ? first.message : `none of its ${bundles.length} bundles is trusted`;
  return { trusted: false, reason, bundles };
}

/** What the keys of every policy are; a signature by one that is revoked is to be told apart from that of a stranger. */
export function keysIn(policies: readonly SigningPolicy[]): string[] {
  const keys = policies.flatMap(({ signers }) =>
    signers.flatMap((one) => ('fingerprint' in one ? [one.key] : [])),
  );
  return [...new Set(keys)];
}

const ANY_GROUP = 'any';

function saidBy(
  { verification, manifest }: Evidence,
  plan: Extract<Plan, { judge: 'release' | 'bytes' }>,
): { signer: Signer; whole: boolean } | { reason: string } {
  const { verified, checks, signer } = verification;
  if (!verified || signer === undefined) {
    const failed = checks.find(({ passed }) => !passed);
    return { reason: failed === undefined ? 'it is damaged' : `${failed.check}: ${failed.message}` };
  }
  const statement =
    verification.statement ?? (manifest === undefined ? undefined : signatureStatement({ manifest }));
  if (plan.judge === 'bytes') {
    if (statement === undefined || statement.predicateType === SIGNATURE_PREDICATE)
      return { signer, whole: true };
    return {
      reason: `it is no signature of the bytes, and says something else (${statement.predicateType})`,
    };
  }
  const claim = readReleaseClaim(
    { ...verification, ...(statement === undefined ? {} : { statement }) },
    plan.release,
  );
  if (claim.claim === 'none') return { reason: claim.reason };
  if (claim.claim === 'attestation') {
    return { reason: `it is no signature, and says something else (${claim.predicateType})` };
  }
  const manifests = plan.release.manifests.map(({ digest }) => digest);
  return { signer, whole: statement !== undefined && hasSubject(statement, manifests) };
}

/** Groups are in lower case; one that is not is no way round a policy. */
function folded(group: string): string {
  return group.toLowerCase();
}

function coveringGroup(policies: readonly SigningPolicy[], group: string): SigningPolicy[] {
  const whatever = policies.map(({ releases: _, ...policy }) => policy);
  return applicablePolicies(whatever, { group: folded(group), release: '0.0.0' });
}

function forAnything(policies: readonly SigningPolicy[], chosen: string): SigningPolicy[] {
  return policies.map((policy) => {
    if (policy.name !== chosen) return policy;
    const { releases: _, ...rest } = policy;
    return { ...rest, groups: ['*'] };
  });
}

function refused(reason: string): Plan {
  return { judge: 'refused', reason };
}

function nothing(because: string): Plan {
  return { judge: 'nothing', because };
}
