import type { Bundle } from '@krmhub/api/model';
import { KrmhubError } from '@krmhub/schema/error';
import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printTable, say } from '../io/print.js';
import { visible } from '../io/text.js';
import { connect } from '../registry/connection.js';
import { parseReleaseReference } from '../registry/function-reference.js';
import { withOutput, withRegistry } from './options.js';

interface AttachOptions {
  output: OutputFormat;
  registry?: string;
}

export function registerAttach(program: Command, io: Io): void {
  withOutput(withRegistry(program.command('attach')))
    .description('Add a signature or an attestation to a release that stands.')
    .argument('<bundle>', 'A sigstore bundle, as `krmhub sign` and cosign write them.')
    .argument('<release>', 'The release, as GROUP/KIND@RELEASE.')
    .addHelpText(
      'after',
      `
The bundle must speak of the release: of its definition or of its manifest.
A signature counts where the policies of the registry trust who made it.

Examples:
  krmhub attach definition.yaml.sigstore.json example.com/SetLabels@1.0.0
  krmhub attach provenance.sigstore.json example.com/SetLabels@1.0.0 -o json`,
    )
    .action((bundle: string, release: string, options: AttachOptions) =>
      attach(io, bundle, release, options),
    );
}

async function attach(io: Io, file: string, reference: string, options: AttachOptions): Promise<void> {
  const { group, kind, release } = parsed(file, reference);
  const { readBundleFile } = await import('../signatures/read-bundle-file.js');
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
  await say(io, visible(added > 0 ? `Added to ${reference}` : `${reference} has this bundle already`));
}

/** The release; who names it before the bundle hears that. */
function parsed(file: string, reference: string): ReturnType<typeof parseReleaseReference> {
  try {
    return parseReleaseReference(reference);
  } catch (error) {
    try {
      parseReleaseReference(file);
    } catch {
      throw error;
    }
    throw new KrmhubError('usage', `${JSON.stringify(reference)} is no release, and ${file} is one`, {
      hint: 'The bundle comes first: krmhub attach BUNDLE GROUP/KIND@RELEASE',
    });
  }
}

function cells({ claim, predicateType, signer }: Bundle): string[] {
  return [claim, predicateType, signer ?? 'not known here'];
}
