import { defined } from '@krmhub/schema/defined';
import { RUNTIME_KINDS } from '@krmhub/schema/definition';
import { KrmhubError } from '@krmhub/schema/error';
import { type Command, Option } from 'commander';
import type { CreateOptions } from '../functions/create-function-files.js';
import type { Io } from '../io/io.js';
import { collectPlatforms, withOutput } from './options.js';

/** As in `functions/programs`, which most commands do not load. */
const LANGUAGES: readonly NonNullable<CreateOptions['language']>[] = ['go', 'typescript', 'python'];

export function registerInit(program: Command, io: Io): void {
  withOutput(program.command('init'))
    .summary('Create the files of a new function.')
    .description(
      'Create the files of a new function: a definition, a README, and an example with its test; for Starlark also the script, and with --language a program, its Dockerfile, and a workflow.',
    )
    .argument('<function>', 'Function as GROUP/KIND. The group is a domain that you own.')
    .option('--out <folder>', 'Folder for the files. Default: a folder named after the kind.')
    .addOption(
      new Option('--runtime <kind>', 'Runtime of the function.').choices(RUNTIME_KINDS).default('container'),
    )
    .addOption(
      new Option('--language <name>', 'Write a program in this language; for exec only go.').choices(
        LANGUAGES,
      ),
    )
    .option(
      '--platforms <list>',
      'Platforms of an exec function, written in Go, for example linux/amd64,darwin/arm64.',
      collectPlatforms,
    )
    .addHelpText(
      'after',
      `
The command does not replace existing files. krmhub docs authoring continues
with build, test, pin, sign, and publish.

Examples:
  krmhub init example.com/SetOwner --runtime starlark
  krmhub init example.com/SetLabels --language go
  krmhub init example.com/SetLabels --language python --out functions/labels
  krmhub init example.com/CheckLimits --runtime exec --platforms linux/amd64,linux/arm64`,
    )
    .action(async (name: string, options: CreateOptions) => {
      const { runtime, language, platforms } = options;
      if (platforms !== undefined && runtime !== 'exec') {
        throw new KrmhubError('usage', `--platforms cannot be combined with --runtime ${runtime}`, {
          hint: 'It is for --runtime exec. The workflow of a container function names the platforms of its image.',
        });
      }
      const { createFunctionFiles } = await import('../functions/create-function-files.js');
      const written = language ?? (platforms === undefined ? undefined : 'go');
      await createFunctionFiles(io, name, { ...options, ...defined({ language: written }) });
    });
}
