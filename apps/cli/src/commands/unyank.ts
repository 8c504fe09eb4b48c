import type { Command } from 'commander';
import type { MarkOptions } from '../functions/set-lifecycle.js';
import type { Io } from '../io/io.js';
import { withOutput, withRegistry } from './options.js';

export function registerUnyank(program: Command, io: Io): void {
  withOutput(withRegistry(program.command('unyank')))
    .description('Take back a yank: catalogs take the release again.')
    .argument('<release>', 'The release, as GROUP/KIND@RELEASE.')
    .option('--reason <text>', 'Why; it is kept in the event feed.')
    .addHelpText(
      'after',
      `
Examples:
  krmhub unyank example.com/SetLabels@2.0.0`,
    )
    .action(async (release: string, options: MarkOptions) => {
      const { markRelease } = await import('../functions/set-lifecycle.js');
      await markRelease(io, 'unyank', release, options);
    });
}
