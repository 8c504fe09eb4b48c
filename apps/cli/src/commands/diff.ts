import type { Command } from 'commander';
import type { DiffOptions } from '../functions/diff-definitions.js';
import type { Io } from '../io/io.js';
import { withOutput, withRegistry } from './options.js';

export function registerDiff(program: Command, io: Io): void {
  withOutput(withRegistry(program.command('diff')))
    .summary('Compare two releases or files.')
    .description('Show what changed for users between two releases or files.')
    .argument('<before>', '[GROUP/]KIND@RELEASE, a file, an oci://… artifact, or - for stdin.')
    .argument('<after>', 'Another release of the same function, [GROUP/]KIND@RELEASE, a file, or -.')
    .addHelpText(
      'after',
      `
The effect of a change on existing files is breaking, review, or compatible. Use
./ before a file name that contains an @.

Exit codes: 0 no breaking change, 1 a breaking change.

Examples:
  krmhub diff example.com/SetLabels@1.0.0 1.1.0
  krmhub diff example.com/SetLabels@1.1.0 example.com/SetLabels@2.0.0 -o json
  krmhub diff example.com/SetLabels@2.0.0 definition.yaml
  krmhub diff old.yaml new.yaml`,
    )
    .action(async (before: string, after: string, options: DiffOptions) => {
      const { diffDefinitions } = await import('../functions/diff-definitions.js');
      await diffDefinitions(io, before, after, options);
    });
}
