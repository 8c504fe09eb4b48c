import { describeSigner } from '@krmhub/catalog';
import { formatReference, type Reference } from '@krmhub/oci';
import { canonicalRelease, KrmhubError } from '@krmhub/schema';
import type { Io } from '../io/io.js';
import { printData, printLine } from '../io/print.js';
import { Progress } from '../io/progress.js';
import { visible } from '../io/text.js';
import { connectOci } from '../registry/connect-oci.js';
import { bundleOfFile } from './bundle-of-file.js';
import { expectedSigner } from './expected-signer.js';
import { findBundles } from './find-bundles.js';
import type { FoundBundle } from './found-bundle.js';
import { isWanted, type JudgedBundle, judgeBundle, type ReleasePlace } from './judge-bundle.js';
import { checkBundleOption, printBundle, type VerifyOptions } from './print-bundle.js';
import { findTarget, type SigningTarget } from './signing-target.js';
import { functionOfRepository } from './trust/read-subject.js';
import { trustedRoot } from './trusted-root-file.js';

/** Says whether an artifact is signed by whom it should be, and shows every check. Throws `untrusted` where it is not. */
export async function verifyArtifact(io: Io, name: string, options: VerifyOptions): Promise<void> {
  const { key, identity, identityPattern, issuer } = options;
  const isSaid = [key, identity, identityPattern, issuer].some((option) => option !== undefined);
  if (!isSaid) {
    const { verifyByTrust } = await import('./trust/verify-by-trust.js');
    return verifyByTrust(io, name, options);
  }
  if (options.policy !== undefined) {
    throw new KrmhubError('usage', '--policy is for whom you trust, and somebody else is named', {
      hint: 'Leave out --policy, or --key and --identity.',
    });
  }
  const expected = await expectedSigner(io, options);
  const root = await trustedRoot(io, options.trustedRoot);
  const target = await findTarget(io, name);
  checkBundleOption(target, options);
  const { digest, found } =
    target.kind === 'reference'
      ? await bundlesOfReference(io, target.reference, options)
      : await bundleOfFile(io, target, options.bundle);
  const bundles = found.map((one) => judgeBundle(one, expected, root, placeOf(target)));
  const wanted = bundles.filter((bundle) => isWanted(bundle, options.type));
  const good = wanted.find(({ verified }) => verified);
  const data = { artifact: name, digest, verified: good !== undefined, bundles };
  await printData(io, options.output, data, async () => {
    for (const bundle of bundles) await printBundle(io, bundle);
  });
  if (good === undefined) throw refusal(name, bundles, wanted, options.type);
  await printLine(io, visible(`Verified: ${digest} is signed by ${describeSigner(good.signer!)}`));
}

function placeOf(target: SigningTarget): ReleasePlace | undefined {
  if (target.kind !== 'reference') return undefined;
  const owner = functionOfRepository(target.reference);
  const release = canonicalRelease(target.reference.tag ?? '');
  return owner === undefined || release === undefined ? undefined : { ...owner, release };
}

async function bundlesOfReference(
  io: Io,
  reference: Reference,
  { plainHttp }: VerifyOptions,
): Promise<{ digest: string; found: FoundBundle[] }> {
  const progress = new Progress(io);
  const client = connectOci(io, progress, plainHttp);
  const { digest } = await client.manifest(reference).finally(() => progress.clear());
  await printLine(io, visible(`${formatReference(reference)} is ${digest}`));
  const { found, leftOut } = await findBundles(client, reference, digest).finally(() => progress.clear());
  if (leftOut > 0) await printLine(io, `There are ${leftOut} more referrers, which are not looked at.`);
  return { digest, found };
}

function refusal(
  name: string,
  bundles: readonly JudgedBundle[],
  wanted: readonly JudgedBundle[],
  type: string | undefined,
): KrmhubError {
  const what =
    type === undefined ? 'signature' : type === 'any' ? 'statement' : `statement of the type ${type}`;
  const others = [...new Set(bundles.flatMap(({ predicateType }) => predicateType ?? []))];
  const refused = (message: string, hint?: string) =>
    new KrmhubError('untrusted', visible(message), hint === undefined ? {} : { hint: visible(hint) });
  if (wanted.length === 0) {
    return refused(
      `${name} has no ${what}`,
      others.length === 0
        ? 'Nothing says who signed it: do not use it.'
        : `There is something else: ask for it with --type ${others[0]}`,
    );
  }
  if (wanted.length === 1) {
    const [{ checks }] = wanted as [JudgedBundle];
    const { check, message } = checks.find(({ passed }) => !passed)!;
    return refused(`${name} is not verified: ${check}: ${message}`, 'Do not use it.');
  }
  return refused(`none of the ${wanted.length} bundles of ${name} holds`, 'Each is shown with its reason.');
}
