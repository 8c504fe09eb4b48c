import type { Command } from 'commander';
import type { MarkOptions } from '../functions/set-lifecycle.js';
import type { Io } from '../io/io.js';
import { withOutput, withRegistry } from './options.js';

export function registerYank(program: Command, io: Io): void {
  withOutput(withRegistry(program.command('yank')))
    .description('Take a release out of catalogs; its bytes stay for those who pinned it.')
    .argument('<release>', 'The release, as GROUP/KIND@RELEASE.')
    .requiredOption('--reason <text>', 'Why; everybody who looks at the release reads it. Required.')
    .addHelpText(
      'after',
      `
Examples:
  krmhub yank example.com/SetLabels@2.0.0 --reason "drops labels of CronJobs"`,
    )
    .action(async (release: string, options: MarkOptions) => {
      const { markRelease } = await import('../functions/set-lifecycle.js');
      await markRelease(io, 'yank', release, options);
    });
}
