import { defined } from '@krmhub/schema/defined';
import { RUNTIME_KINDS, type RuntimeKind } from '@krmhub/schema/definition';
import { type Command, Option } from 'commander';
import type { Io } from '../io/io.js';
import type { OutputFormat } from '../io/print.js';
import {
  collect,
  type RunningOptions,
  readRunning,
  withOutput,
  withRegistry,
  withRunning,
} from './options.js';

interface TestCommandOptions extends RunningOptions {
  output: OutputFormat;
  exec?: string;
  image?: string;
  runtime?: RuntimeKind;
  example?: string[];
  update?: boolean;
  release?: string;
  key?: string;
  keyless?: boolean;
  identityTokenFile?: string;
  bundle?: string;
  registry?: string;
}

export function registerTest(program: Command, io: Io): void {
  withOutput(withRegistry(withRunning(program.command('test'))))
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
    .option('--release <release>', 'Test this published release, not the definition in the folder.')
    .option('--key <file>', 'Sign the report with this private key, and attach it to the release.')
    .option('--keyless', 'Sign the report with an identity token. See `krmhub sign`.')
    .option('--identity-token-file <file>', 'File with an OIDC token for the audience sigstore.')
    .option('--bundle <file>', 'Write the signed report to this file, and do not attach it.')
    .addHelpText(
      'after',
      `
An example is a folder examples/NAME with:
  input/                 resources
  fn-config.yaml         the functionConfig
  expected/              the resources after the function
  expected-results.yaml  its results (optional)
  expected-failure.txt   instead of expected/: lines of its error message

With --key or --keyless, the command signs the report of a release, passed or
failed, as an in-toto attestation. The page of the function then shows the
result, the signer, and the time.

Exit code 1 if a check failed.

Examples:
  krmhub test owner
  krmhub test owner --example basic --update
  krmhub test owner -o json
  krmhub test owner --exec "python3 set-owner.py"
  krmhub test owner --image localhost/set-owner:dev
  krmhub test owner --release 1.0.0 --key krmhub.key`,
    )
    .action(async (folder: string, options: TestCommandOptions) => {
      const { testFunction } = await import('../conformance/test-function.js');
      const { output, exec, image, runtime, example, update = false, ...release } = options;
      await testFunction(io, folder, {
        ...release,
        output,
        permissions: readRunning(options, io.cwd),
        ...defined({ exec, image, runtime, examples: example }),
        update,
      });
    });
}
