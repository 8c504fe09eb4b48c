import type { Command } from 'commander';
import type { TakedownOptions } from '../functions/take-down.js';
import type { Io } from '../io/io.js';
import { withOutput, withRegistry } from './options.js';

export function registerTakedown(program: Command, io: Io): void {
  withOutput(withRegistry(program.command('takedown')))
    .summary('Delete a release permanently (admin).')
    .description('Delete a release permanently, for example a leaked secret or malware (admin).')
    .argument('<release>', 'Release as GROUP/KIND@RELEASE.')
    .requiredOption('--reason <text>', 'Public reason, without the secret itself. Required.')
    .option('--refuse-runtimes', 'Also refuse its images, executables, and scripts in every release.')
    .option('--allow-runtimes', 'Allow them again, for a release that was taken down.')
    .option('--dry-run', 'Show what would be deleted, and change nothing.')
    .option('--yes', 'Do not ask for confirmation.')
    .addHelpText(
      'after',
      `
You cannot undo a takedown: the registry never accepts the name or the bytes
again. A takedown does not delete copies on other machines, so revoke a leaked
secret first. For a broken release, use \`krmhub yank\`.

The command prints everything that it deletes, including other releases with the
same bytes, and the snapshots that it withdraws. In a terminal, it asks for
confirmation. Without one, use --yes.

Other releases can use the images and executables of the release. If these are
the malware, use --refuse-runtimes: then commands refuse to run their digests
until you use --allow-runtimes.

Examples:
  krmhub takedown example.com/SetLabels@1.3.0 --reason "malware" --refuse-runtimes --dry-run
  krmhub takedown example.com/SetLabels@1.3.0 --reason "contains a password" --dry-run
  krmhub takedown example.com/SetLabels@1.3.0 --reason "contains a password" --yes`,
    )
    .action(async (release: string, options: TakedownOptions) => {
      const { takeDown } = await import('../functions/take-down.js');
      await takeDown(io, release, options);
    });
}
