import type { Subject } from '@krmhub/consume/trust/judge-release';
import { trustedRoot } from '@krmhub/consume/trust/trusted-root-file';
import { formatReference, type Reference } from '@krmhub/oci';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { escapeControls, plural } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { printData, printLine } from '../io/print.js';
import { Progress } from '../io/progress.js';
import { connectOci } from '../registry/connect-oci.js';
import { resolveArtifact } from '../registry/release-artifact.js';
import { expectedSigner } from './expected-signer.js';
import { readFileBundle } from './file-bundle.js';
import { findBundles } from './find-bundles.js';
import type { FoundBundle } from './found-bundle.js';
import { type JudgedBundle, judgeBundle, matchesType, verifiedName } from './judge-bundle.js';
import { checkBundleOption, printBundle, type VerifyOptions } from './print-bundle.js';
import { findTarget, type SigningTarget } from './signing-target.js';
import { readFileSubject } from './trust/file-subject.js';
import { isDocumentLayer, openManifest, readSubject } from './trust/read-subject.js';
import { verifiedLine } from './verified-line.js';

/** Verifies the signature of an artifact and prints every check. Throws `untrusted` if no bundle is valid. */
export async function verifyArtifact(io: Io, text: string, given: VerifyOptions): Promise<void> {
  const { name, options } = await resolveArtifact(io, text, given, { files: true });
  const { key, identity, identityPattern, issuer } = options;
  const hasSigner = [key, identity, identityPattern, issuer].some((option) => option !== undefined);
  if (io.snapshotLimits !== undefined) {
    if (hasSigner || options.policy !== undefined || options.type !== undefined) {
      throw new KrmhubError('usage', '--min-serial and --max-age apply only to keys that are pinned', {
        hint: 'Remove the options for the signer, and pin the key of the catalog with `krmhub trust add`.',
      });
    }
    const { verifyWithinLimits } = await import('./trust/verify-pinned.js');
    return verifyWithinLimits(io, name, options);
  }
  if (!hasSigner) {
    const { verifyByTrust } = await import('./trust/verify-by-trust.js');
    return verifyByTrust(io, name, options);
  }
  if (options.policy !== undefined) {
    throw new KrmhubError(
      'usage',
      '--policy cannot be combined with --key, --identity, --identity-pattern, or --issuer',
      {
        hint: 'Use --policy alone, or remove it.',
      },
    );
  }
  const expected = await expectedSigner(io, options);
  const root = await trustedRoot(io, options.trustedRoot);
  const target = await findTarget(io, name);
  checkBundleOption(target, options);
  const { digest, found, ...named } =
    target.kind === 'reference'
      ? await findReferenceBundles(io, target.reference, options)
      : await readFileEvidence(io, target, options.bundle);
  const bundles = found.map((one) => judgeBundle(one, expected, root, { ...named, now: io.now() }));
  const wanted = bundles.filter((bundle) => matchesType(bundle, options.type));
  const good = wanted.find(({ verified }) => verified);
  const as = good === undefined ? undefined : verifiedName(good);
  const data = {
    artifact: name,
    digest,
    verified: good !== undefined,
    ...defined({ name: as }),
    bundles,
  };
  await printData(io, options.output, data, async () => {
    for (const bundle of bundles) await printBundle(io, bundle);
  });
  if (good === undefined) throw notVerifiedError(name, bundles, wanted, options.type);
  await printLine(io, verifiedLine(digest, { name: as, signer: good.signer! }));
}

/** What to verify: the digest, its bundles, and what the artifact claims to be. */
interface OpenEvidence {
  digest: string;
  found: FoundBundle[];
  subject: Subject;
  reference?: Reference;
}

async function readFileEvidence(
  io: Io,
  target: Exclude<SigningTarget, { kind: 'reference' }>,
  bundle: string | undefined,
): Promise<OpenEvidence> {
  const { digest, found } = await readFileBundle(io, target, bundle);
  return { digest, found, subject: await readFileSubject(io, target, digest) };
}

async function findReferenceBundles(
  io: Io,
  reference: Reference,
  options: VerifyOptions,
): Promise<OpenEvidence> {
  const progress = new Progress(io);
  const client = connectOci(io, progress, options);
  try {
    const manifest = await client.manifest(reference);
    const { digest } = manifest;
    await printLine(io, escapeControls(`resolved ${formatReference(reference)} to ${digest}`));
    const { subject } = await readSubject(client, openManifest(reference, manifest, isDocumentLayer));
    const { found, leftOut } = await findBundles(client, reference, digest);
    if (leftOut > 0) await printLine(io, `skipped ${plural(leftOut, 'referrer')} over the limit`);
    return { digest, found, subject, reference };
  } finally {
    await progress.clear();
  }
}

function notVerifiedError(
  name: string,
  bundles: readonly JudgedBundle[],
  wanted: readonly JudgedBundle[],
  type: string | undefined,
): KrmhubError {
  const what =
    type === undefined ? 'signature' : type === 'any' ? 'attestation' : `attestation of type ${type}`;
  const others = [...new Set(bundles.flatMap(({ predicateType }) => predicateType ?? []))];
  const refused = (message: string, hint?: string) =>
    new KrmhubError(
      'untrusted',
      escapeControls(message),
      hint === undefined ? {} : { hint: escapeControls(hint) },
    );
  if (wanted.length === 0) {
    return refused(
      `${name} has no ${what}`,
      others.length === 0
        ? 'Do not use the artifact.'
        : `Verify its attestation instead: krmhub verify ${name} --type ${others[0]}`,
    );
  }
  if (wanted.length === 1) {
    const [{ checks }] = wanted as [JudgedBundle];
    const { check, message } = checks.find(({ passed }) => !passed)!;
    return refused(`cannot verify ${name}: ${check}: ${message}`, 'Do not use the artifact.');
  }
  return refused(
    `cannot verify ${name}: none of its ${wanted.length} bundles is valid`,
    'Do not use the artifact. The reasons are above.',
  );
}
