import type { Command } from 'commander';
import type { LifecycleOptions } from '../functions/set-lifecycle.js';
import type { Io } from '../io/io.js';
import { withOutput, withRegistry } from './options.js';

export function registerUnyank(program: Command, io: Io): void {
  withOutput(withRegistry(program.command('unyank')))
    .summary('Undo a yank.')
    .description('Undo a yank: the next snapshots of catalogs include the release again.')
    .argument('<release>', 'Release as [GROUP/]KIND@RELEASE.')
    .option('--reason <text>', 'Reason for the event feed.')
    .addHelpText(
      'after',
      `
Examples:
  krmhub unyank example.com/SetLabels@2.0.0`,
    )
    .action(async (release: string, options: LifecycleOptions) => {
      const { setLifecycle } = await import('../functions/set-lifecycle.js');
      await setLifecycle(io, 'unyank', release, options);
    });
}
