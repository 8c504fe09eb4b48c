import type { Command } from 'commander';
import type { MarkOptions } from '../functions/set-lifecycle.js';
import type { Io } from '../io/io.js';
import { withOutput, withRegistry } from './options.js';

export function registerDeprecate(program: Command, io: Io): void {
  withOutput(withRegistry(program.command('deprecate')))
    .description('Say that there is something better; the release stays in catalogs.')
    .argument('<release>', 'The release, as GROUP/KIND@RELEASE.')
    .requiredOption('--reason <text>', 'Why, and what to use instead. Required.')
    .addHelpText(
      'after',
      `
Examples:
  krmhub deprecate example.com/SetLabels@1.0.0 --reason "use 2.0.0"`,
    )
    .action(async (release: string, options: MarkOptions) => {
      const { markRelease } = await import('../functions/set-lifecycle.js');
      await markRelease(io, 'deprecate', release, options);
    });
}
