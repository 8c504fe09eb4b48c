import type { Command } from 'commander';
import type { TakedownOptions } from '../functions/take-down.js';
import type { Io } from '../io/io.js';
import { withOutput, withRegistry } from './options.js';

export function registerTakedown(program: Command, io: Io): void {
  withOutput(withRegistry(program.command('takedown')))
    .description('Remove the bytes of a release for good: a leaked secret, or malware.')
    .argument('<release>', 'The release, as GROUP/KIND@RELEASE.')
    .requiredOption('--reason <text>', 'Why; everybody reads it, so never repeat the secret. Required.')
    .option('--dry-run', 'Tell what would go, and change nothing.')
    .addHelpText(
      'after',
      `
There is no way back: the name and the bytes are never taken again. Copies that
others have stay; revoke a leaked secret first. For what is merely broken, yank.

Examples:
  krmhub takedown example.com/SetLabels@1.3.0 --reason "holds a password" --dry-run
  krmhub takedown example.com/SetLabels@1.3.0 --reason "holds a password"`,
    )
    .action(async (release: string, options: TakedownOptions) => {
      const { takeDown } = await import('../functions/take-down.js');
      await takeDown(io, release, options);
    });
}
