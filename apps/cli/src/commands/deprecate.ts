import type { Command } from 'commander';
import type { LifecycleOptions } from '../functions/set-lifecycle.js';
import type { Io } from '../io/io.js';
import { withOutput, withRegistry } from './options.js';

export function registerDeprecate(program: Command, io: Io): void {
  withOutput(withRegistry(program.command('deprecate')))
    .summary('Mark a release as deprecated.')
    .description('Mark a release as deprecated. It stays in catalogs.')
    .argument('<release>', 'Release as GROUP/KIND@RELEASE.')
    .requiredOption('--reason <text>', 'Reason, and what to use instead. Required.')
    .addHelpText(
      'after',
      `
Examples:
  krmhub deprecate example.com/SetLabels@1.0.0 --reason "use 2.0.0"`,
    )
    .action(async (release: string, options: LifecycleOptions) => {
      const { setLifecycle } = await import('../functions/set-lifecycle.js');
      await setLifecycle(io, 'deprecate', release, options);
    });
}
