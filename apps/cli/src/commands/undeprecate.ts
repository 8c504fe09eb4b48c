import type { Command } from 'commander';
import type { LifecycleOptions } from '../functions/set-lifecycle.js';
import type { Io } from '../io/io.js';
import { withOutput, withRegistry } from './options.js';

export function registerUndeprecate(program: Command, io: Io): void {
  withOutput(withRegistry(program.command('undeprecate')))
    .summary('Undo a deprecation.')
    .description('Undo a deprecation, and remove the replacement that it names.')
    .argument('<release>', 'Release as [GROUP/]KIND@RELEASE.')
    .option('--reason <text>', 'Reason for the event feed.')
    .addHelpText(
      'after',
      `
Examples:
  krmhub undeprecate example.com/SetLabels@1.0.0`,
    )
    .action(async (release: string, options: LifecycleOptions) => {
      const { setLifecycle } = await import('../functions/set-lifecycle.js');
      await setLifecycle(io, 'undeprecate', release, options);
    });
}
