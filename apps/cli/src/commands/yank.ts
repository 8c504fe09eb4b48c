import type { Command } from 'commander';
import type { LifecycleOptions } from '../functions/set-lifecycle.js';
import type { Io } from '../io/io.js';
import { withOutput, withRegistry } from './options.js';

export function registerYank(program: Command, io: Io): void {
  withOutput(withRegistry(program.command('yank')))
    .summary('Remove a release from catalogs.')
    .description('Remove a release from catalogs. Its bytes stay for users who pinned it.')
    .argument('<release>', 'Release as [GROUP/]KIND@RELEASE.')
    .requiredOption('--reason <text>', 'Reason, which the registry shows with the release. Required.')
    .addHelpText(
      'after',
      `
Examples:
  krmhub yank example.com/SetLabels@2.0.0 --reason "drops labels of CronJobs"`,
    )
    .action(async (release: string, options: LifecycleOptions) => {
      const { setLifecycle } = await import('../functions/set-lifecycle.js');
      await setLifecycle(io, 'yank', release, options);
    });
}
