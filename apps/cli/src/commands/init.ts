import { RUNTIME_KINDS } from '@krmhub/schema/definition';
import { type Command, Option } from 'commander';
import type { CreateOptions } from '../functions/create-function-files.js';
import type { Io } from '../io/io.js';
import { withOutput } from './options.js';

export function registerInit(program: Command, io: Io): void {
  withOutput(program.command('init'))
    .summary('Create the files of a new function.')
    .description(
      'Create the files of a new function: a definition, a README, and an example with its test; for Starlark also the script.',
    )
    .argument('<function>', 'Function as GROUP/KIND. The group is a domain that you own.')
    .option('--out <folder>', 'Folder for the files. Default: a folder named after the kind.')
    .addOption(
      new Option('--runtime <kind>', 'Runtime of the function.').choices(RUNTIME_KINDS).default('container'),
    )
    .addHelpText(
      'after',
      `
The command does not replace existing files.

Examples:
  krmhub init example.com/SetLabels
  krmhub init example.com/CheckLimits --runtime exec --out functions/limits
  krmhub init example.com/SetOwner --runtime starlark`,
    )
    .action(async (name: string, options: CreateOptions) => {
      const { createFunctionFiles } = await import('../functions/create-function-files.js');
      await createFunctionFiles(io, name, options);
    });
}
