import { defined } from '@krmhub/schema/defined';
import { type Command, Option } from 'commander';
import type { Io } from '../../io/io.js';
import { collect, splitArguments } from '../options.js';
import { type FnCommandOptions, readFnSettings, withFunctionRuns } from './fn-options.js';

interface RunCommandOptions extends FnCommandOptions {
  image?: string;
  exec?: string;
  function?: string;
  fnPath?: string[];
  globalScope?: boolean;
}

export function registerFnRun(parent: Command, io: Io): void {
  withFunctionRuns(parent.command('run'))
    .summary('Run functions that a folder declares.')
    .description('Run one function, or those that functionConfigs of a folder declare in annotations.')
    .usage('[options] [DIR] [-- [KIND] KEY=VALUE...]')
    .argument('[arguments...]', 'Folder. Default: the current folder.')
    .option(
      '-i, --image <image>',
      'Run this image. Without a registry, it is one of ghcr.io/kptdev/krm-functions-catalog.',
    )
    .option('--exec <command>', 'Run this program, with arguments in quotes.')
    .option('--function <type>', 'Run GROUP/[VERSION/]KIND of a catalog.')
    .option('--fn-path <path>', 'Run the functions of this folder or file instead. Repeatable.', collect)
    .option('--global-scope', 'Give all resources to each function.')
    .addOption(new Option('--enable-exec').hideHelp())
    .addOption(new Option('--enable-star').hideHelp())
    .addHelpText(
      'after',
      `
A functionConfig declares its function in the annotation
config.kubernetes.io/function. Its function gets the resources of its folder and
below; functions in deeper folders run first. With catalogs, a functionConfig
whose kind a catalog has needs no annotation.

--results-dir gets a file results-N.yaml for each function with results.

Examples:
  krmhub fn run app
  krmhub fn run app --allow-package-exec --results-dir results
  krmhub fn run app -i gcr.io/example.com/validate:v1 -- subject=bob
  krmhub fn run app -c catalog.yaml --dry-run`,
    )
    .action(async (args: string[], options: RunCommandOptions, command: Command) => {
      const { own, following: functionArguments } = splitArguments(command, args);
      if (own.length > 1) {
        command.error("error: 0 or 1 arguments supported, function arguments go after '--'");
      }
      const { withKptErrors } = await import('../../fn/print-error.js');
      const { image, exec, function: type, fnPath = [], globalScope = false } = options;
      await withKptErrors(io, 'error', async () => {
        const { runPackage } = await import('../../fn/run-package.js');
        await runPackage(io, own[0] ?? '.', {
          settings: await readFnSettings(io, options),
          ...defined({ image, exec, function: type }),
          configs: fnPath,
          isGlobal: globalScope,
          arguments: functionArguments,
        });
      });
    });
}
