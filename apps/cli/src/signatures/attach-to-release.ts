import type { Bundle } from '@krmhub/api/model';
import { KrmhubError } from '@krmhub/schema/error';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine, printTable } from '../io/print.js';
import { escapeControls } from '../io/text.js';
import { connect } from '../registry/connection.js';
import { parseReleaseReference } from '../registry/function-reference.js';
import { readBundleFile } from './read-bundle-file.js';

export interface AttachOptions {
  output: OutputFormat;
  registry?: string;
}

/** Adds a sigstore bundle to a published release and prints all bundles of the release. */
export async function attachToRelease(
  io: Io,
  file: string,
  reference: string,
  options: AttachOptions,
): Promise<void> {
  const { group, kind, release } = parseArguments(file, reference);
  const bytes = await readBundleFile(io, file);
  const client = await connect(io, options.registry);
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
function parseArguments(file: string, reference: string): ReturnType<typeof parseReleaseReference> {
  try {
    return parseReleaseReference(reference);
  } catch (error) {
    try {
      parseReleaseReference(file);
    } catch {
      throw error;
    }
    throw new KrmhubError('usage', `${JSON.stringify(reference)} is not a release, but ${file} is`, {
      hint: `Swap the arguments: krmhub attach BUNDLE ${file}`,
    });
  }
}

function cells({ claim, predicateType, signer }: Bundle): string[] {
  return [claim, predicateType, signer ?? 'unknown'];
}
