import type { Command } from 'commander';
import type { TakedownOptions } from '../functions/take-down.js';
import type { Io } from '../io/io.js';
import { withOutput, withRegistry } from './options.js';

export function registerTakedown(program: Command, io: Io): void {
  withOutput(withRegistry(program.command('takedown')))
    .summary('Erase a release for good (admin).')
    .description('Erase a release for good, for example a leaked secret or malware (admin).')
    .argument('<release>', 'Release as GROUP/KIND@RELEASE.')
    .requiredOption('--reason <text>', 'Public reason; do not repeat the secret. Required.')
    .option('--dry-run', 'Show what would be erased, and change nothing.')
    .addHelpText(
      'after',
      `
A takedown cannot be undone: the registry never accepts the name or the bytes
again. It does not reach copies that others made, so revoke a leaked secret
first. For a broken release, use \`krmhub yank\`.

Examples:
  krmhub takedown example.com/SetLabels@1.3.0 --reason "contains a password" --dry-run
  krmhub takedown example.com/SetLabels@1.3.0 --reason "contains a password"`,
    )
    .action(async (release: string, options: TakedownOptions) => {
      const { takeDown } = await import('../functions/take-down.js');
      await takeDown(io, release, options);
    });
}
