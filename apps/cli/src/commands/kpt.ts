import { defined } from '@krmhub/schema/defined';
import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import type { OutputFormat } from '../io/print.js';
import {
  type ImagePrefixOptions,
  type ResolutionOptions,
  readResolution,
  withImagePrefix,
  withOutput,
  withResolution,
} from './options.js';

interface SyncCommandOptions extends ResolutionOptions, ImagePrefixOptions {
  check?: boolean;
  output: OutputFormat;
}

export function registerKpt(program: Command, io: Io): void {
  const kpt = program
    .command('kpt')
    .summary('Use functions from catalogs in kpt packages.')
    .description('Use functions from catalogs in the pipelines of kpt packages.')
    .addHelpText('after', '\nExamples:\n  krmhub kpt sync package --catalog default');
  registerSync(kpt, io);
  registerExec(kpt, io);
}

function registerSync(parent: Command, io: Io): void {
  withOutput(withImagePrefix(withResolution(parent.command('sync'))))
    .summary('Set the images in a Kptfile.')
    .description(
      'Set the image or executable of each function in a Kptfile and its subpackages, by the kind of its functionConfig.',
    )
    .argument('[folder]', 'Folder of the package.', '.')
    .option('--check', 'Do not write. If a Kptfile is out of date, print the difference and exit with 1.')
    .addHelpText(
      'after',
      `
The command sets \`image: NAME@sha256:…\`, or \`exec: krmhub kpt exec …\` for an
executable or a Starlark script, and changes nothing else. A Kptfile lists its
catalogs in the annotation krmhub.dev/catalogs, one per line. Without the
annotation, the command uses the catalogs in krmhub.lock. If no catalog has the
kind, the entry keeps its image.

Examples:
  krmhub kpt sync package --catalog default
  krmhub kpt sync package --catalog https://krm.example.com/catalogs/default
  krmhub kpt sync package --catalog default --check`,
    )
    .action(async (folder: string, options: SyncCommandOptions) => {
      const { syncPackage } = await import('../kpt/sync-package.js');
      const { lock, frozen = false, check = false, output, imagePrefix } = options;
      await syncPackage(io, folder, {
        resolution: await readResolution(io, options),
        ...defined({ lock, imagePrefix }),
        frozen,
        check,
        output,
      });
    });
}

function registerExec(parent: Command, io: Io): void {
  parent
    .command('exec')
    .summary('Run an executable or a script for kpt.')
    .description(
      'Verify the executable for this platform, or the script, and run it with the ResourceList from stdin.',
    )
    .argument(
      '<executable...>',
      'OS/ARCH=URI#sha256=DIGITS. For a program in an archive, add &bin=NAME. For a script: starlark=URI#sha256=DIGITS.',
    )
    .addHelpText(
      'after',
      `
\`krmhub kpt sync\` writes this command to a Kptfile. kpt runs it only with
--allow-exec.`,
    )
    .action(async (executables: string[]) => {
      const { runExec } = await import('../kpt/run-exec.js');
      await runExec(io, executables);
    });
}
