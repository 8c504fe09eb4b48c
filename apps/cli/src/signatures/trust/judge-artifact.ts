import { policyKeys, type SigningPolicy } from '@krmhub/catalog';
import type { Environment, WorkingFolder } from '@krmhub/consume/ports';
import {
  type Evidence,
  type Judgement,
  judgeEvidence,
  type Plan,
  planJudgement,
} from '@krmhub/consume/trust/judge-release';
import { requireTrustStore, type TrustStore } from '@krmhub/consume/trust/trust-file';
import { trustedRoot } from '@krmhub/consume/trust/trusted-root-file';
import { type Descriptor, type OciClient, TITLE } from '@krmhub/oci';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { suggest } from '@krmhub/schema/suggest';
import { escapeControls, plural } from '@krmhub/schema/text';
import type { Signer, Trust } from '@krmhub/signing';
import type { Io } from '../../io/io.js';
import { printLine } from '../../io/print.js';
import { findBundles } from '../find-bundles.js';
import type { FoundBundle } from '../found-bundle.js';
import { verifiedLine } from '../verified-line.js';
import { type OpenArtifact, readSubject } from './read-subject.js';

export interface TrustOptions {
  /** Name of the required policy. */
  policy?: string;
  trustedRoot?: string;
}

export interface JudgedArtifact {
  plan: Plan;
  /** Present if a policy covers the artifact. */
  judgement?: Judgement;
  evidence: Evidence[];
  /** The layer that is the definition. */
  layer?: Descriptor;
}

/** The verification result of a pull, as JSON output has it. */
export type PullVerification =
  /** `covers` is present if only the definition is signed, not the manifest of the reference. */
  | { trusted: true; signer: Signer; policy: string; covers?: 'definition' }
  /** A snapshot of a pinned catalog. */
  | { trusted: true; signer: Signer; catalog: string; serial: number }
  | { trusted: false; reason: string };

/** Reads the trust file, which must contain the requested policy. Throws `untrusted` and `usage`. */
export async function loadTrust(
  io: Environment & WorkingFolder,
  { policy }: TrustOptions,
): Promise<TrustStore> {
  const store = await requireTrustStore(io);
  const names = store.trust.policies.map(({ name }) => name);
  if (policy === undefined || names.includes(policy)) return store;
  const meant = suggest(policy, names);
  throw new KrmhubError('usage', escapeControls(`policy ${policy} not found in ${store.file}`), {
    hint: escapeControls(
      names.length === 0
        ? `Add it: krmhub trust add ${policy} --group GLOB --key FILE.pub`
        : `${meant === undefined ? '' : `Did you mean ${meant}? `}Use one of: ${names.join(', ')}`,
    ),
  });
}

/** Evaluates the signatures of an artifact by the policies of this user. With `whole`, they must cover its manifest. */
export async function judgeArtifact(
  io: Io,
  client: OciClient,
  artifact: OpenArtifact,
  { trust }: TrustStore,
  options: TrustOptions & { whole?: boolean },
): Promise<JudgedArtifact> {
  const { policies } = trust;
  if (policies.length === 0) {
    return { plan: { judge: 'nothing', reason: 'no policy in the trust file' }, evidence: [] };
  }
  const { subject, layer } = await readSubject(client, artifact);
  const plan = planJudgement(policies, subject, options);
  const known = layer === undefined ? {} : { layer };
  if (plan.judge === 'nothing' || plan.judge === 'refused') return { plan, evidence: [], ...known };
  const parts = plan.judge === 'release' ? [plan.release.definition] : [];
  const found: FoundBundle[] = [];
  let left = 0;
  for (const { digest } of subject.manifests) {
    const { found: some, leftOut } = await findBundles(
      client,
      artifact.reference,
      digest as Descriptor['digest'],
      parts,
    );
    found.push(...some);
    left += leftOut;
  }
  if (left > 0) await printLine(io, `skipped ${plural(left, 'referrer')} over the limit`);
  const evidence = verifyAll(found, await verificationTrust(io, trust.policies, options));
  const partial = options.whole === true ? partialReason(artifact, layer) : undefined;
  return {
    plan,
    evidence,
    judgement: judgeEvidence(plan, evidence, io.now().toISOString(), partial),
    ...known,
  };
}

function partialReason({ named, files }: OpenArtifact, definition: Descriptor | undefined): string {
  const others = files
    .filter((layer) => layer !== definition)
    .map(({ annotations, digest }) => annotations?.[TITLE] ?? digest);
  const rest = [`the manifest ${named.digest}`, ...others].join(', ');
  return `the signature covers only the definition, not ${rest}`;
}

/** Returns the keys of every policy and the trusted root, to verify bundles with. */
export async function verificationTrust(
  io: Io,
  policies: readonly SigningPolicy[],
  options: TrustOptions,
): Promise<Trust> {
  return { keys: policyKeys(policies), root: await trustedRoot(io, options.trustedRoot) };
}

export function verifyAll(found: readonly FoundBundle[], trust: Trust): Evidence[] {
  return found.map(({ source, manifest, verify }) => ({
    source,
    ...defined({ manifest }),
    verification: verify(trust),
  }));
}

/** Prints and returns the result for a pull. Throws `untrusted` if a required signature is missing. */
export async function requireVerdict(
  io: Io,
  name: string,
  { plan, judgement }: JudgedArtifact,
  { requireTrust = false }: { requireTrust?: boolean },
): Promise<PullVerification> {
  if (plan.judge === 'refused') throw untrustedError(name, plan.reason);
  if (plan.judge === 'nothing') {
    const { reason } = plan;
    if (!requireTrust) {
      await printLine(
        io,
        escapeControls(`${name} is not verified: ${reason}; to require a signature, run: krmhub trust add`),
      );
      return { trusted: false, reason };
    }
    throw untrustedError(name, `${reason}, and --require-trust is set`, {
      hint: 'Add a policy with `krmhub trust add`. For an artifact without a group, also use --policy NAME.',
    });
  }
  if (judgement?.trusted !== true) throw judgementError(name, judgement);
  const { signer, cosigners, policy, whole } = judgement;
  const what = whole ? name : `the definition of ${name}`;
  await printLine(io, verifiedLine(what, { name: plannedName(plan), signer, cosigners, policy }));
  return { trusted: true, signer, policy, ...defined({ covers: whole ? undefined : 'definition' }) };
}

/** Returns the release that a plan requires a signature of; undefined for bytes. */
export function plannedName(plan: Plan): string | undefined {
  if (plan.judge !== 'release') return undefined;
  const { group, kind, release } = plan.release;
  return `${group}/${kind}@${release}`;
}

/** Lists the reason of every bundle. */
export function judgementError(
  name: string,
  judgement: Extract<Judgement, { trusted: false }> | undefined,
  options: { hint?: string } = {},
): KrmhubError {
  const { reason, bundles } = judgement ?? { reason: 'no signature was checked', bundles: [] };
  const each = bundles.length > 1 ? bundles.map(({ source, message }) => `${source}: ${message}`) : [];
  return untrustedError(name, [reason, ...each].join('\n'), options);
}

export function untrustedError(name: string, reason: string, { hint }: { hint?: string } = {}): KrmhubError {
  return new KrmhubError('untrusted', `${name} is not trusted: ${reason}`, {
    hint: hint ?? 'Nothing was written. List the trusted signers: krmhub trust list',
  });
}
