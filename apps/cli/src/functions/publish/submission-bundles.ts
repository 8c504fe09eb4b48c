import type { RegistryClient } from '@krmhub/api/client';
import { KrmhubError, sha256 } from '@krmhub/schema';
import { escapeControls } from '@krmhub/schema/text';
import type { Submission } from '../../documents/read-definitions.js';
import type { Io } from '../../io/io.js';
import { printLine } from '../../io/print.js';
import type { Progress } from '../../io/progress.js';
import type { BundleSignerOptions } from '../../signatures/bundle-signer.js';
import { readBundleFile } from '../../signatures/read-bundle-file.js';

export interface BundleOptions extends BundleSignerOptions {
  bundle?: readonly string[];
}

/**
 * Adds the given bundles and, if a signer is given, signatures, which it counts. Without both, adds the bundles next to
 * the definitions.
 */
export async function withBundles(
  io: Io,
  client: RegistryClient,
  submissions: readonly Submission[],
  readme: Uint8Array | undefined,
  options: BundleOptions,
  progress: Progress,
): Promise<{ submissions: readonly Submission[]; signed: number }> {
  const named = options.bundle ?? [];
  if (named.length > 0 && submissions.length !== 1) {
    throw new KrmhubError('usage', `--bundle requires a single definition, got ${submissions.length}`, {
      hint: 'Publish the definition of the bundle separately.',
    });
  }
  const signs = options.key !== undefined || options.keyless === true;
  if (options.key !== undefined && options.keyless === true) {
    throw new KrmhubError('usage', '--key cannot be combined with --keyless', { hint: 'Use one of them.' });
  }
  if (!signs && named.length === 0) {
    const { withBundlesBeside } = await import('./bundles-beside.js');
    return { submissions: await withBundlesBeside(io, submissions, readme), signed: 0 };
  }
  const given = await Promise.all(named.map(async (name) => (await readBundleFile(io, name)).bytes));
  const bundled = submissions.map((submission) => ({ ...submission, bundles: given }));
  return signs ? sign(io, client, bundled, readme, options, progress) : { submissions: bundled, signed: 0 };
}

async function sign(
  io: Io,
  client: RegistryClient,
  submissions: readonly (Submission & { bundles: Uint8Array[] })[],
  readme: Uint8Array | undefined,
  options: BundleOptions,
  progress: Progress,
): Promise<{ submissions: readonly Submission[]; signed: number }> {
  const [{ bundleSigner }, { signAndVerify: signChecked }, { submissionStatement: statementOfSubmission }] =
    await Promise.all([
      import('../../signatures/bundle-signer.js'),
      import('../../signatures/sign-artifact.js'),
      import('../../signatures/statements.js'),
    ]);
  const signer = await bundleSigner(io, options);
  const signed: Submission[] = [];
  let count = 0;
  for (const [index, submission] of submissions.entries()) {
    const { group, kind, release, bytes, bundles } = submission;
    const label = `${group}/${kind}@${release}`;
    const earlier = await publishedSigners(client, submission);
    // A further signature would be of no use, but permanent in a public log.
    const isKnown = signer.name === undefined ? earlier.length > 0 : earlier.includes(signer.name);
    if (isKnown) {
      signed.push(submission);
      if (signer.name !== undefined) continue;
      await progress.clear();
      await printLine(io, escapeControls(`not signed again: ${label} is signed by ${earlier.join(' and ')}`));
      continue;
    }
    await progress.show(`signing ${index + 1}/${submissions.length} ${label}`);
    const bundle = await signChecked(signer, statementOfSubmission(submission, readme), sha256(bytes));
    signed.push({ ...submission, bundles: [...bundles, bundle] });
    count += 1;
  }
  await progress.clear();
  return { submissions: signed, signed: count };
}

/** Returns who signed the release if it is published with these bytes. */
async function publishedSigners(
  client: RegistryClient,
  { group, kind, release, bytes }: Submission,
): Promise<string[]> {
  try {
    const published = await client.release(group, kind, release);
    if (published.digest !== sha256(bytes)) return [];
    return published.bundles.flatMap(({ claim, signer, whole }) =>
      claim === 'signature' && signer !== undefined && (whole || !published.readme) ? [signer] : [],
    );
  } catch (error) {
    if (error instanceof KrmhubError && (error.code === 'not-found' || error.code === 'gone')) return [];
    throw error;
  }
}
