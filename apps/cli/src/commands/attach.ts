import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import type { AttachOptions } from '../signatures/attach-to-release.js';
import { withOutput, withRegistry } from './options.js';

export function registerAttach(program: Command, io: Io): void {
  withOutput(withRegistry(program.command('attach')))
    .summary('Add a signature to a release.')
    .description('Add a signature or an attestation to a published release.')
    .argument('<bundle>', 'Sigstore bundle from `krmhub sign` or cosign.')
    .argument('<release>', 'Release as GROUP/KIND@RELEASE.')
    .addHelpText(
      'after',
      `
The subject of the bundle must be the definition or the manifest of the release.
A signature counts if a signing policy of the registry trusts the signer.

Examples:
  krmhub attach definition.yaml.sigstore.json example.com/SetLabels@1.0.0
  krmhub attach provenance.sigstore.json example.com/SetLabels@1.0.0 -o json`,
    )
    .action(async (bundle: string, release: string, options: AttachOptions) => {
      const { attachToRelease } = await import('../signatures/attach-to-release.js');
      await attachToRelease(io, bundle, release, options);
    });
}
