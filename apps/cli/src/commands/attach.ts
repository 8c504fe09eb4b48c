import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import type { AttachOptions } from '../signatures/attach-to-artifact.js';
import { withArtifact, withOutput } from './options.js';

export function registerAttach(program: Command, io: Io): void {
  withOutput(withArtifact(program.command('attach')))
    .summary('Add a signature or README images to an artifact.')
    .description(
      'Add a signature, an attestation, or images of the README to a published release, or to an OCI artifact.',
    )
    .argument(
      '<file...>',
      'Sigstore bundle from `krmhub sign` or cosign, or images; followed by the artifact: GROUP/KIND[@RELEASE], HOST/REPOSITORY:TAG, or HOST/REPOSITORY@DIGEST.',
    )
    .addHelpText(
      'after',
      `
The bundle must sign the definition or the manifest of the release, or the
manifest of the OCI artifact. A signature of a release counts if a signing
policy of the registry trusts the signer.

Images are PNG, JPEG, GIF, WebP, or SVG files of at most 4 MiB. The page of the
release shows them where its README has their paths: run the command in the
folder of the README.

Examples:
  krmhub attach definition.yaml.sigstore.json example.com/SetLabels@1.0.0
  krmhub attach provenance.sigstore.json example.com/SetLabels@1.0.0 -o json
  krmhub attach images/flow.png images/result.png example.com/SetLabels@1.0.0`,
    )
    .action(async (args: string[], options: AttachOptions) => {
      const { attachFiles } = await import('../artifacts/attach-files.js');
      await attachFiles(io, args, options);
    });
}
