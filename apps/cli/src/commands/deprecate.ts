import type { Command } from 'commander';
import type { LifecycleOptions } from '../functions/set-lifecycle.js';
import type { Io } from '../io/io.js';
import { withOutput, withRegistry } from './options.js';

export function registerDeprecate(program: Command, io: Io): void {
  withOutput(withRegistry(program.command('deprecate')))
    .summary('Mark a release as deprecated.')
    .description('Mark a release as deprecated. It stays in catalogs.')
    .argument('<release>', 'Release as [GROUP/]KIND@RELEASE.')
    .option(
      '--use <replacement>',
      'What to use instead: GROUP/KIND, or GROUP/KIND@RANGE with a SemVer range.',
    )
    .option('--reason <text>', 'Reason. Default: the replacement.')
    .addHelpText(
      'after',
      `
Give --use, --reason, or both. Users see the replacement in search, show,
resolve, explain, lock, and build, and on the page of the function.

Examples:
  krmhub deprecate example.com/SetLabels@1.0.0 --use "example.com/SetLabels@^2.0.0"
  krmhub deprecate example.com/SetLabels@1.0.0 --reason "no longer maintained"`,
    )
    .action(async (release: string, options: LifecycleOptions) => {
      const { setLifecycle } = await import('../functions/set-lifecycle.js');
      await setLifecycle(io, 'deprecate', release, options);
    });
}
