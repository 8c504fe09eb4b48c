import { RUNTIME_KINDS, type RuntimeKind } from '@krmhub/schema/definition';
import { type Command, Option } from 'commander';
import type { Io } from '../io/io.js';

export function registerInit(program: Command, io: Io): void {
  program
    .command('init')
    .description('Start a function: a definition to fill in, a README and an example.')
    .argument('<function>', 'GROUP/KIND of the function; the group is a domain of yours.')
    .option('--dir <folder>', 'Folder to write to; else one named after the kind.')
    .addOption(
      new Option('--runtime <runtime>', 'What runs the function.')
        .choices(RUNTIME_KINDS)
        .default('container'),
    )
    .addHelpText(
      'after',
      `
Nothing that is there is replaced.

Examples:
  krmhub init example.com/SetLabels
  krmhub init example.com/CheckLimits --runtime exec --dir functions/limits`,
    )
    .action(async (name: string, options: { dir?: string; runtime: RuntimeKind }) => {
      const { startFunction } = await import('../functions/start-function.js');
      await startFunction(io, name, options);
    });
}
