import { RUNTIME_KINDS, type RuntimeKind } from '@krmhub/schema/definition';
import { type Command, Option } from 'commander';
import type { Io } from '../io/io.js';
import type { OutputFormat } from '../io/print.js';
import { collect, type RunningOptions, readRunning, withOutput, withRunning } from './options.js';

interface TestCommandOptions extends RunningOptions {
  output: OutputFormat;
  exec?: string;
  image?: string;
  runtime?: RuntimeKind;
  example?: string[];
  update?: boolean;
}

export function registerTest(program: Command, io: Io): void {
  withOutput(withRunning(program.command('test')))
    .summary('Test a function: the specification, and its examples.')
    .description(
      'Test a function with generated resources, as the KRM functions specification requires, and with its examples.',
    )
    .argument('[folder]', 'Folder with definition.yaml and examples.', '.')
    .option('--exec <command>', 'Test this program, with arguments in quotes, as the function.')
    .option('-i, --image <image>', 'Test this image as the function.')
    .addOption(new Option('--runtime <kind>', 'Test this runtime of the definition.').choices(RUNTIME_KINDS))
    .option('--example <name>', 'Run only this example. Repeatable.', collect)
    .option('--update', 'Write what the examples expect, from what the function does.')
    .addHelpText(
      'after',
      `
An example is a folder examples/NAME with:
  input/                 resources
  fn-config.yaml         the functionConfig
  expected/              the resources after the function
  expected-results.yaml  its results (optional)
  expected-failure.txt   instead of expected/: lines of its error message

Exit code 1 if a check failed.

Examples:
  krmhub test owner
  krmhub test owner --example basic --update
  krmhub test owner -o json
  krmhub test owner --exec "python3 set-owner.py"
  krmhub test owner --image localhost/set-owner:dev`,
    )
    .action(async (folder: string, options: TestCommandOptions) => {
      const { testFunction } = await import('../conformance/test-function.js');
      const { output, exec, image, runtime, example, update = false } = options;
      await testFunction(io, folder, {
        output,
        permissions: readRunning(options, io.cwd),
        ...(exec === undefined ? {} : { exec }),
        ...(image === undefined ? {} : { image }),
        ...(runtime === undefined ? {} : { runtime }),
        ...(example === undefined ? {} : { examples: example }),
        update,
      });
    });
}
