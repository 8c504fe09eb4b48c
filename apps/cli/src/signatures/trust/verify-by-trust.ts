import { describeSigner } from '@krmhub/catalog';
import { formatReference, type ImageManifest, type Reference } from '@krmhub/oci';
import { type Digest, DOCUMENT_LIMITS, type FunctionName, KrmhubError, sha256 } from '@krmhub/schema';
import { failedCheck, passedCheck, RELEASE_PREDICATE, type Statement } from '@krmhub/signing';
import { readFileUpTo } from '../../files/read-file.js';
import type { Io } from '../../io/io.js';
import { printData, printLine } from '../../io/print.js';
import { Progress } from '../../io/progress.js';
import { escapeControls } from '../../io/text.js';
import { connectOci } from '../../registry/connect-oci.js';
import { expectedSigner } from '../expected-signer.js';
import { readFileBundle } from '../file-bundle.js';
import { describeBundle } from '../judge-bundle.js';
import { checkBundleOption, printBundle, type VerifyOptions } from '../print-bundle.js';
import { findTarget, type SigningTarget } from '../signing-target.js';
import {
  type JudgedArtifact,
  judgeArtifact,
  judgementError,
  loadTrust,
  untrustedError,
  verificationTrust,
  verifyAll,
} from './judge-artifact.js';
import { judgeEvidence, planJudgement, type Subject } from './judge-release.js';
import { findDefinitions } from './read-subject.js';
import type { TrustStore } from './trust-file.js';

const HINT = 'Do not use the artifact. List the trusted signers: krmhub trust list';

/** Verifies an artifact by the policies of this user. Throws `untrusted` if it is not trusted. */
export async function verifyByTrust(io: Io, name: string, options: VerifyOptions): Promise<void> {
  const store = await loadTrust(io, options);
  // Throws the message that explains how to name a signer.
  if (store.trust.policies.length === 0) await expectedSigner(io, {});
  if (options.type !== undefined) {
    throw new KrmhubError('usage', '--type requires --key or --identity: policies cover only signatures', {
      hint: `Name the signer: krmhub verify ${name} --type ${options.type} --key FILE.pub`,
    });
  }
  const target = await findTarget(io, name);
  checkBundleOption(target, options);
  const { digest, judged } =
    target.kind === 'reference'
      ? await judgeReference(io, target.reference, store, options)
      : await judgeFile(io, target, store, options);
  const { plan, judgement, evidence } = judged;
  const bundles = evidence.map(({ source, verification }, at) => {
    const { trusted, message } = judgement!.bundles[at]!;
    const check = (trusted ? passedCheck : failedCheck)('identity', message);
    return describeBundle(source, verification, verification.verified ? [check] : []);
  });
  const good = judgement?.trusted === true ? judgement : undefined;
  const bad = judgement?.trusted === false ? judgement : undefined;
  const policy = good === undefined ? {} : { policy: good.policy };
  const data = { artifact: name, digest, verified: good !== undefined, ...policy, bundles };
  await printData(io, options.output, data, async () => {
    for (const bundle of bundles) await printBundle(io, bundle);
  });
  if (plan.judge === 'refused') throw untrustedError(name, plan.reason, { hint: HINT });
  if (plan.judge === 'nothing') {
    throw untrustedError(name, plan.reason, {
      hint: 'Add a policy with `krmhub trust add`, or name the signer with --policy, --key or --identity.',
    });
  }
  if (good === undefined) throw judgementError(name, bad, { hint: HINT });
  const release =
    plan.judge === 'release' ? ` as ${plan.release.group}/${plan.release.kind}@${plan.release.release}` : '';
  await printLine(
    io,
    escapeControls(
      `verified ${digest}${release}: signed by ${describeSigner(good.signer)}, policy ${good.policy}`,
    ),
  );
}

async function judgeReference(
  io: Io,
  reference: Reference,
  store: TrustStore,
  options: VerifyOptions,
): Promise<{ digest: string; judged: JudgedArtifact }> {
  const progress = new Progress(io);
  const client = connectOci(io, progress, options.plainHttp);
  try {
    const named = await client.manifest(reference);
    await printLine(io, escapeControls(`resolved ${formatReference(reference)} to ${named.digest}`));
    const { manifest } = named;
    const image: ImageManifest | undefined = manifest.kind === 'image' ? manifest.image : undefined;
    const artifact = {
      reference,
      named,
      stored: named,
      files: image?.layers ?? [],
      ...(image === undefined ? {} : { image }),
    };
    return { digest: named.digest, judged: await judgeArtifact(io, client, artifact, store, options) };
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
  const names = target.kind === 'file' ? await readDefinitionNames(io, target.name, digest) : [];
  const [release] = evidence.flatMap(({ verification }) => signedReleases(verification.statement));
  const subject: Subject = {
    definitions: names,
    ...(names.length === 1 ? { definition: digest as Digest } : {}),
    ...(release === undefined ? {} : { release: { name: release, by: 'artifact' } }),
    manifests: [],
  };
  const plan = planJudgement(policies, subject, options);
  if (plan.judge === 'nothing' || plan.judge === 'refused') return { digest, judged: { plan, evidence: [] } };
  const judgement = judgeEvidence(plan, evidence, io.now().toISOString());
  return { digest, judged: { plan, evidence, judgement } };
}

/** Returns an empty list if the file is too large to be a definition. */
async function readDefinitionNames(io: Io, name: string, digest: string): Promise<FunctionName[]> {
  const { maxDefinitionBytes } = DOCUMENT_LIMITS;
  const bytes = await readFileUpTo(io, name, maxDefinitionBytes);
  if (bytes.byteLength > maxDefinitionBytes) return [];
  if (sha256(bytes) === digest) return findDefinitions(bytes).names;
  throw new KrmhubError('conflict', escapeControls(`${name} changed while krmhub read it`));
}

function signedReleases(statement: Statement | undefined): string[] {
  const release = statement?.predicateType === RELEASE_PREDICATE ? statement.predicate.release : undefined;
  return typeof release === 'string' ? [release] : [];
}
