import type { Command } from 'commander';
import type { ReleasesOptions } from '../functions/list-releases.js';
import type { Io } from '../io/io.js';
import { withOutput, withRegistry } from './options.js';

export function registerReleases(program: Command, io: Io): void {
  withOutput(withRegistry(program.command('releases')))
    .summary('List the releases of a function.')
    .description('List all releases of a function, newest first, with their signers and state.')
    .argument('<function>', 'Function as [GROUP/]KIND.')
    .addHelpText(
      'after',
      `
The newest release that is not yanked is the one that \`krmhub show\` prints, and
that \`krmhub pull GROUP/KIND\` pulls.

If stdout is not a terminal, each line contains: release, time, publisher,
signature state, digest, note.

Examples:
  krmhub releases example.com/SetLabels
  krmhub releases SetLabels -o json`,
    )
    .action(async (reference: string, options: ReleasesOptions) => {
      const { listReleases } = await import('../functions/list-releases.js');
      await listReleases(io, reference, options);
    });
}
