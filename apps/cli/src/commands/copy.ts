import type { Command } from 'commander';
import type { CopyOptions } from '../artifacts/copy-references.js';
import type { Io } from '../io/io.js';
import { withArtifact, withOutput, withSnapshotLimits } from './options.js';

export function registerCopy(program: Command, io: Io): void {
  withOutput(withSnapshotLimits(withArtifact(program.command('copy'))))
    .summary('Copy an artifact between registries.')
    .description('Copy an artifact and its signatures between OCI registries, with the same digest.')
    .argument('<from>', 'GROUP/KIND[@RELEASE], HOST/REPOSITORY:TAG, or HOST/REPOSITORY@DIGEST.')
    .argument('<to>', 'HOST/REPOSITORY:TAG.')
    .option('--no-referrers', 'Do not copy signatures and other referrers.')
    .addHelpText(
      'after',
      `
GROUP/KIND without a release is the newest release that is not yanked.

Examples:
  krmhub copy example.com/SetLabels@1.0.0 localhost:5000/set-labels:1.0.0
  krmhub copy registry.example.com/team/catalog:v1 localhost:5000/catalog:v1
  krmhub copy localhost:5000/catalog:v1 localhost:5000/mirror/catalog:v1`,
    )
    .action(async (from: string, to: string, options: CopyOptions) => {
      const { copyReferences } = await import('../artifacts/copy-references.js');
      await copyReferences(io, from, to, options);
    });
}
