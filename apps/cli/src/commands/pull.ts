import type { Command } from 'commander';
import type { PullOptions } from '../artifacts/pull-artifact.js';
import type { Io } from '../io/io.js';
import { parsePlatform, withArtifact, withOutput, withSnapshotLimits } from './options.js';

export function registerPull(program: Command, io: Io): void {
  withOutput(withSnapshotLimits(withArtifact(program.command('pull'))))
    .summary('Pull the files of a release or an OCI artifact.')
    .description('Pull the files of a release, or of an artifact from any OCI registry.')
    .argument('<artifact>', 'GROUP/KIND[@RELEASE], HOST/REPOSITORY:TAG, or HOST/REPOSITORY@DIGEST.')
    .option('--out <folder>', 'Folder for the files.', '.')
    .option('--platform <os/arch>', 'Platform of an executable. Default: this machine.', parsePlatform)
    .option('--overwrite', 'Replace existing files that differ.')
    .option('--require-trust', 'Reject an artifact without a trusted signature.')
    .option('--policy <name>', 'Require that the artifact satisfies this policy of `krmhub trust`.')
    .option('--trusted-root <file>', 'Trusted root of sigstore. Default: KRMHUB_TRUSTED_ROOT.')
    .addHelpText(
      'after',
      `
GROUP/KIND without a release is the newest release that is not yanked.

The command verifies the digest of every file. If a policy of \`krmhub trust\`
covers the group and release of a definition, the release must have a signature
by a signer of that policy. Otherwise, the command writes nothing. Other
artifacts have no group: set a policy with --policy.

Examples:
  krmhub pull example.com/SetLabels@1.0.0 --out functions/set-labels
  krmhub pull registry.example.com/team/catalog:v1
  krmhub pull localhost:5000/team/catalog:v1 --out catalogs/ --overwrite
  krmhub pull localhost:5000/team/exec:1.0.0 --platform linux/amd64
  krmhub pull localhost:5000/team/exec:1.0.0 --policy example`,
    )
    .action(async (reference: string, options: PullOptions) => {
      const { pullArtifact } = await import('../artifacts/pull-artifact.js');
      await pullArtifact(io, reference, options);
    });
}
