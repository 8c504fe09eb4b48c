import { judgeEvidence, planJudgement, type Subject } from '@krmhub/consume/trust/judge-release';
import type { TrustStore } from '@krmhub/consume/trust/trust-file';
import { formatReference, type Reference } from '@krmhub/oci';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { escapeControls } from '@krmhub/schema/text';
import { failedCheck, passedCheck, RELEASE_PREDICATE, type Statement } from '@krmhub/signing';
import type { Io } from '../../io/io.js';
import { printData, printLine } from '../../io/print.js';
import { Progress } from '../../io/progress.js';
import { connectOci } from '../../registry/connect-oci.js';
import { expectedSigner } from '../expected-signer.js';
import { readFileBundle } from '../file-bundle.js';
import { describeBundle } from '../judge-bundle.js';
import { checkBundleOption, printBundle, type VerifyOptions } from '../print-bundle.js';
import { findTarget, type SigningTarget } from '../signing-target.js';
import { verifiedLine } from '../verified-line.js';
import { readFileSubject } from './file-subject.js';
import {
  type JudgedArtifact,
  judgeArtifact,
  judgementError,
  loadTrust,
  plannedName,
  untrustedError,
  verificationTrust,
  verifyAll,
} from './judge-artifact.js';
import { openManifest } from './read-subject.js';
import { verifyByPin } from './verify-pinned.js';

const HINT = 'Do not use the artifact. List the trusted signers: krmhub trust list';

/**
 * Verifies an artifact by the policies of this user, a catalog by the keys that are pinned for it. Throws `untrusted`
 * if it is not trusted.
 */
export async function verifyByTrust(io: Io, name: string, options: VerifyOptions): Promise<void> {
  const store = await loadTrust(io, options);
  if (store.trust.catalogs.length > 0 && options.policy === undefined && options.type === undefined) {
    const target = await findTarget(io, name);
    checkBundleOption(target, options);
    if (target.kind === 'reference' && (await verifyByPin(io, name, target.reference, options))) return;
  }
  // Throws the message that explains how to name a signer.
  if (store.trust.policies.length === 0) await expectedSigner(io, {});
  if (options.type !== undefined) {
    throw new KrmhubError('usage', '--type requires --key or --identity: policies cover only signatures', {
      hint: `Set the signer: krmhub verify ${name} --type ${options.type} --key FILE.pub`,
    });
  }
  const target = await findTarget(io, name);
  checkBundleOption(target, options);
  const { digest, judged } =
    target.kind === 'reference'
      ? await judgeReference(io, target.reference, store, options)
      : await judgeFile(io, target, store, options);
  const { plan, judgement, evidence } = judged;
  const signed = plannedName(plan);
  const bundles = evidence.map(({ source, verification }, at) => {
    const { trusted, check, message, isRequired } = judgement!.bundles[at]!;
    const judged = [(trusted ? passedCheck : failedCheck)(check, message)];
    if (trusted && isRequired !== true && signed !== undefined) judged.push(passedCheck('name', signed));
    return describeBundle(source, verification, verification.verified ? judged : []);
  });
  const good = judgement?.trusted === true ? judgement : undefined;
  const bad = judgement?.trusted === false ? judgement : undefined;
  const verdict = good === undefined ? {} : { policy: good.policy, ...defined({ name: signed }) };
  const data = { artifact: name, digest, verified: good !== undefined, ...verdict, bundles };
  await printData(io, options.output, data, async () => {
    for (const bundle of bundles) await printBundle(io, bundle);
  });
  if (plan.judge === 'refused') throw untrustedError(name, plan.reason, { hint: HINT });
  if (plan.judge === 'nothing') {
    throw untrustedError(name, plan.reason, {
      hint: 'Add a policy with `krmhub trust add`, or set the signer with --policy, --key, or --identity.',
    });
  }
  if (good === undefined) throw judgementError(name, bad, { hint: HINT });
  await printLine(io, verifiedLine(digest, { name: signed, ...good }));
}

/** Judges the manifest of a reference: a signature of only its definition is not enough. */
async function judgeReference(
  io: Io,
  reference: Reference,
  store: TrustStore,
  options: VerifyOptions,
): Promise<{ digest: string; judged: JudgedArtifact }> {
  const progress = new Progress(io);
  const client = connectOci(io, progress, options);
  try {
    const named = await client.manifest(reference);
    await printLine(io, escapeControls(`resolved ${formatReference(reference)} to ${named.digest}`));
    const judged = await judgeArtifact(io, client, openManifest(reference, named), store, {
      ...options,
      whole: true,
    });
    return { digest: named.digest, judged };
  } finally {
    await progress.clear();
  }
}

/** Judges a file, whose release is the one that its bundle names. */
async function judgeFile(
  io: Io,
  target: Exclude<SigningTarget, { kind: 'reference' }>,
  { trust }: TrustStore,
  options: VerifyOptions,
): Promise<{ digest: string; judged: JudgedArtifact }> {
  const { policies } = trust;
  const { digest, found } = await readFileBundle(io, target, options.bundle);
  const evidence = verifyAll(found, await verificationTrust(io, policies, options));
  const [release] = evidence.flatMap(({ verification }) => signedReleases(verification.statement));
  const subject: Subject = {
    ...(await readFileSubject(io, target, digest)),
    ...defined({ release: release === undefined ? undefined : { name: release, by: 'artifact' as const } }),
  };
  const plan = planJudgement(policies, subject, options);
  if (plan.judge === 'nothing' || plan.judge === 'refused') return { digest, judged: { plan, evidence: [] } };
  const judgement = judgeEvidence(plan, evidence, io.now().toISOString());
  return { digest, judged: { plan, evidence, judgement } };
}

function signedReleases(statement: Statement | undefined): string[] {
  const release = statement?.predicateType === RELEASE_PREDICATE ? statement.predicate.release : undefined;
  return typeof release === 'string' ? [release] : [];
}
