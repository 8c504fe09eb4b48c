import { defined } from '@krmhub/schema/defined';
import { type Command, Option } from 'commander';
import type { Io } from '../../io/io.js';
import { splitArguments } from '../options.js';
import {
  type FnCommandOptions,
  readFnSettings,
  readSelector,
  withFunctionRuns,
  withSelectors,
} from './fn-options.js';

interface EvalCommandOptions extends FnCommandOptions {
  image?: string;
  exec?: string;
  function?: string;
  fnConfig?: string;
  save?: boolean;
  type?: 'mutator' | 'validator';
  [selector: string]: unknown;
}

export function registerFnEval(parent: Command, io: Io): void {
  withSelectors(
    withFunctionRuns(parent.command('eval'))
      .summary('Run one function on resources.')
      .description('Run one function on the resources of a folder, or of stdin.')
      .usage('[options] [DIR|-] [-- KEY=VALUE...]')
      .argument('[arguments...]', 'Folder, or - for stdin. Default: the current folder.')
      .option(
        '-i, --image <image>',
        'Run this image. Without a registry, it is one of ghcr.io/kptdev/krm-functions-catalog.',
      )
      .option('--exec <command>', 'Run this program, with arguments in quotes.')
      .option('--function <type>', 'Run GROUP/[VERSION/]KIND of a catalog.')
      .option('--fn-config <file>', 'File of the functionConfig. Alone, it names a function of a catalog.')
      .option('-s, --save', 'Add the function to the Kptfile.')
      .addOption(
        new Option('-t, --type <type>', 'Where --save adds it. Default: mutator.').choices([
          'mutator',
          'validator',
        ]),
      )
      .addOption(new Option('-k, --keywords <word>').hideHelp()),
  )
    .addHelpText(
      'after',
      `
A ResourceList or YAML documents on stdin give a ResourceList on stdout. For a
folder with the name stdout, unwrap, or json, write -o ./json.

Examples:
  krmhub fn eval app -i set-labels:v0.1.5 -- tier=backend
  krmhub fn eval app --exec ./set-labels.sh --match-kind Deployment
  krmhub fn eval app --fn-config labels.yaml -c catalog.yaml --dry-run
  krmhub fn eval app --function example.com/v1/SetTier -c catalog.yaml -- tier=a
  krmhub fn eval app -s -t validator --exec ./check.sh --results-dir results
  krmhub fn source app | krmhub fn eval - --exec ./fn.sh -o unwrap`,
    )
    .action(async (args: string[], options: EvalCommandOptions, command: Command) => {
      const { own, following: functionArguments } = splitArguments(command, args);
      if (own.length > 1) {
        command.error("error: 0 or 1 arguments supported, function arguments go after '--'");
      }
      const { withKptErrors } = await import('../../fn/print-error.js');
      const { image, exec, function: type, fnConfig } = options;
      await withKptErrors(io, 'error', async () => {
        const { evalPackage } = await import('../../fn/eval-package.js');
        await evalPackage(io, own[0] ?? '.', {
          settings: await readFnSettings(io, options),
          ...defined({ image, exec, function: type, config: fnConfig }),
          arguments: functionArguments,
          match: readSelector(options, 'match'),
          exclude: readSelector(options, 'exclude'),
          save: options.save === true,
          type: options.type ?? 'mutator',
        });
      });
    });
}
