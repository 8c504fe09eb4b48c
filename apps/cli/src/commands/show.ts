import type { Command } from 'commander';
import type { ShowOptions } from '../functions/show-function.js';
import type { Io } from '../io/io.js';
import { withOutput, withRegistry } from './options.js';

export function registerShow(program: Command, io: Io): void {
  withOutput(withRegistry(program.command('show')))
    .summary('Show a function.')
    .description('Show what a function does, how to configure it, and how to run it.')
    .argument('<function>', 'Function as [GROUP/]KIND or [GROUP/]KIND@RELEASE.')
    .addHelpText(
      'after',
      `
If a function exists only in upstream catalogs, the command shows its entry in
the catalogs of this registry. A recipe can rewrite image references in the
entry to a mirror.

Examples:
  krmhub show SetLabels
  krmhub show example.com/SetLabels
  krmhub show example.com/SetLabels@1.2.0 -o json`,
    )
    .action(async (reference: string, options: ShowOptions) => {
      const { showFunction } = await import('../functions/show-function.js');
      await showFunction(io, reference, options);
    });
}
