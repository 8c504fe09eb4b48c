import { describeSigner, type SigningPolicy } from '@krmhub/catalog';
import type { Descriptor, OciClient } from '@krmhub/oci';
import { KrmhubError, readPublicKey } from '@krmhub/schema';
import type { Signer, Trust } from '@krmhub/signing';
import type { Io } from '../../io/io.js';
import { printLine } from '../../io/print.js';
import { plural, visible } from '../../io/text.js';
import { findBundles } from '../find-bundles.js';
import type { FoundBundle } from '../found-bundle.js';
import { trustedRoot } from '../trusted-root-file.js';
import {
  type Evidence,
  type Judgement,
  judgeEvidence,
  keysIn,
  type Plan,
  planJudgement,
} from './judge-release.js';
import { type OpenArtifact, readSubject } from './read-subject.js';
import { type TrustStore, trustToVerifyBy } from './trust-file.js';

export interface TrustOptions {
  /** Name of the policy that has to hold. */
  policy?: string;
  trustedRoot?: string;
}

export interface JudgedArtifact {
  plan: Plan;
  /** There where something was to be signed. */
  judgement?: Judgement;
  evidence: Evidence[];
  /** The layer that is the definition. */
  layer?: Descriptor;
}

/** What a pull says of who vouches for what it wrote, as JSON has it. */
export type PullVerification =
  | { trusted: true; signer: Signer; policy: string }
  | { trusted: false; reason: string };

/** The trust of this user, in which the policy is that is asked for. Throws `untrusted`, and `usage`. */
export async function openTrust(io: Pick<Io, 'env' | 'cwd'>, { policy }: TrustOptions): Promise<TrustStore> {
  const store = await trustToVerifyBy(io);
  const names = store.trust.policies.map(({ name }) => name);
  if (policy === undefined || names.includes(policy)) return store;
  throw new KrmhubError('usage', visible(`there is no policy ${policy} in ${store.file}`), {
    hint: names.length === 0 ? 'Add one with `krmhub trust add`.' : visible(`There are ${names.join(', ')}.`),
  });
}

/** Whether somebody whom this user trusts vouches for an artifact. Nothing of it is written. */
export async function judgeArtifact(
  io: Io,
  client: OciClient,
  artifact: OpenArtifact,
  { trust }: TrustStore,
  options: TrustOptions,
): Promise<JudgedArtifact> {
  const { policies } = trust;
  if (policies.length === 0) {
    return { plan: { judge: 'nothing', because: 'no policy says whom to trust' }, evidence: [] };
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
  if (left > 0) await printLine(io, `There are ${plural(left, 'more referrer')}, which are not looked at.`);
  const evidence = verifyAll(found, await trustOf(io, trust.policies, options));
  return { plan, evidence, judgement: judgeEvidence(plan, evidence, io.now().toISOString()), ...known };
}

/** What bundles are held against: the keys of every policy, and the sigstore instance that is believed. */
export async function trustOf(
  io: Io,
  policies: readonly SigningPolicy[],
  options: TrustOptions,
): Promise<Trust> {
  const keys = keysIn(policies).map((key) => readPublicKey(key, 'a key of a policy'));
  return { keys, root: await trustedRoot(io, options.trustedRoot) };
}

export function verifyAll(found: readonly FoundBundle[], trust: Trust): Evidence[] {
  return found.map(({ source, manifest, verify }) => ({
    source,
    ...(manifest === undefined ? {} : { manifest }),
    verification: verify(trust),
  }));
}

/** Who vouches for what is about to be written. Throws `untrusted` where somebody should, and does not. */
export async function requireVerdict(
  io: Io,
  name: string,
  { plan, judgement }: JudgedArtifact,
  { requireTrust = false }: { requireTrust?: boolean },
): Promise<PullVerification> {
  if (plan.judge === 'refused') throw untrusted(name, plan.reason);
  if (plan.judge === 'nothing') {
    const { because } = plan;
    if (!requireTrust) {
      await printLine(
        io,
        visible(`Nothing vouches for ${name}: ${because}. Say whom to trust: krmhub trust add`),
      );
      return { trusted: false, reason: because };
    }
    throw untrusted(name, `${because}, and --require-trust wants somebody to vouch for it`, {
      hint: 'Say whom to trust with `krmhub trust add`; for what has no group, name a policy with --policy.',
    });
  }
  if (judgement?.trusted !== true) throw refusalOf(name, judgement);
  const { signer, policy } = judgement;
  const release =
    plan.judge === 'release' ? ` as ${plan.release.group}/${plan.release.kind}@${plan.release.release}` : '';
  await printLine(
    io,
    visible(`${name} is verified${release}: signed by ${describeSigner(signer)}, by the policy ${policy}`),
  );
  return { trusted: true, signer, policy };
}

/** With the reason of every bundle. */
export function refusalOf(
  name: string,
  judgement: Extract<Judgement, { trusted: false }> | undefined,
  options: { hint?: string } = {},
): KrmhubError {
  const { reason, bundles } = judgement ?? { reason: 'it was not judged', bundles: [] };
  const each = bundles.length > 1 ? bundles.map(({ source, message }) => `${source}: ${message}`) : [];
  return untrusted(name, [reason, ...each].join('\n'), options);
}

export function untrusted(name: string, reason: string, { hint }: { hint?: string } = {}): KrmhubError {
  return new KrmhubError('untrusted', `${name} is not trusted: ${reason}`, {
    hint: hint ?? 'Nothing was written. `krmhub trust list` shows whom you trust.',
  });
}
