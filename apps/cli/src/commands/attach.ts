import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import type { AttachOptions } from '../signatures/attach-to-artifact.js';
import { withArtifact, withOutput } from './options.js';

export function registerAttach(program: Command, io: Io): void {
  withOutput(withArtifact(program.command('attach')))
    .summary('Add a signature to an artifact.')
    .description('Add a signature or an attestation to a published release, or to an OCI artifact.')
    .argument('<bundle>', 'Sigstore bundle from `krmhub sign` or cosign.')
    .argument('<artifact>', 'GROUP/KIND[@RELEASE], HOST/REPOSITORY:TAG, or HOST/REPOSITORY@DIGEST.')
    .addHelpText(
      'after',
      `
The bundle must sign the definition or the manifest of the release, or the
manifest of the OCI artifact. A signature of a release counts if a signing
policy of the registry trusts the signer.

Examples:
  krmhub attach definition.yaml.sigstore.json example.com/SetLabels@1.0.0
  krmhub attach provenance.sigstore.json example.com/SetLabels@1.0.0 -o json`,
    )
    .action(async (bundle: string, artifact: string, options: AttachOptions) => {
      const { attachToArtifact } = await import('../signatures/attach-to-artifact.js');
      await attachToArtifact(io, bundle, artifact, options);
    });
}
