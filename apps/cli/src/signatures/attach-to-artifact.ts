import type { Bundle } from '@krmhub/api/model';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls, shellWord } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine, printTable } from '../io/print.js';
import { connect } from '../registry/connection.js';
import { type FunctionReference, parseFunctionReference } from '../registry/function-reference.js';
import {
  type ArtifactOptions,
  isReleaseName,
  newestRelease,
  releaseReference,
} from '../registry/release-artifact.js';
import { signInAsWorkflow } from '../registry/workflow-token.js';
import { readBundleFile } from './read-bundle-file.js';

export interface AttachOptions extends ArtifactOptions {
  output: OutputFormat;
}

/**
 * Adds a sigstore bundle to an artifact: to a release of the configured registry, and prints all bundles of the
 * release, or to the manifest of an OCI reference.
 */
export async function attachToArtifact(
  io: Io,
  file: string,
  artifact: string,
  options: AttachOptions,
): Promise<void> {
  if (artifact.includes(':')) {
    const { attachToReference } = await import('./attach-to-reference.js');
    return attachToReference(io, file, artifact, options);
  }
  const { group, kind, ...named } = parseArguments(file, artifact);
  const { bytes } = await readBundleFile(io, file);
  await signInAsWorkflow(io, options.registry, [group]);
  const client = await connect(io, options.registry);
  const release = named.release ?? newestRelease(await client.function(group, kind)).release;
  const reference = `${group}/${kind}@${release}`;
  await printLine(
    io,
    escapeControls(`${reference} is ${releaseReference(client.url, { group, kind, release })}`),
  );
  const before = await client.bundles(group, kind, release);
  const after = await client.attach(group, kind, release, bytes);
  await printData(io, options.output, after, () =>
    printTable(io, [{ header: 'CLAIM' }, { header: 'TYPE', min: 20 }, { header: 'SIGNER' }], after.bundles, {
      terminal: cells,
      pipe: cells,
    }),
  );
  const added = after.bundles.length - before.bundles.length;
  await printLine(
    io,
    escapeControls(
      added > 0 ? `added ${file} to ${reference}` : `unchanged: ${reference} already has ${file}`,
    ),
  );
}

/** Parses the release. Throws a message of its own where the two arguments are swapped. */
function parseArguments(file: string, artifact: string): FunctionReference & { group: string } {
  if (!isReleaseName(artifact) && isReleaseName(file)) {
    throw new KrmhubError('usage', `${JSON.stringify(artifact)} is not a release, but ${file} is`, {
      hint: `Swap the arguments: krmhub attach ${shellWord(artifact)} ${file}`,
    });
  }
  const { group, kind, release } = parseFunctionReference(artifact);
  if (group !== undefined) return { group, kind, ...defined({ release }) };
  throw new KrmhubError('usage', `${JSON.stringify(artifact)} is not a release: it has no group`, {
    hint: 'Use GROUP/KIND@RELEASE, for example example.com/SetLabels@1.2.0, or HOST/REPOSITORY:TAG.',
  });
}

function cells({ claim, predicateType, signer }: Bundle): string[] {
  return [claim, predicateType, signer ?? 'unknown'];
}
