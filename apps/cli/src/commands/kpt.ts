import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import type { OutputFormat } from '../io/print.js';
import { type ResolutionOptions, readResolution, withOutput, withResolution } from './options.js';

interface SyncCommandOptions extends ResolutionOptions {
  check?: boolean;
  output: OutputFormat;
}

export function registerKpt(program: Command, io: Io): void {
  const kpt = program
    .command('kpt')
    .summary('Use functions of catalogs in kpt packages.')
    .description('Use functions of catalogs in the pipelines of kpt packages.')
    .addHelpText('after', '\nExamples:\n  krmhub kpt sync package --catalog default');
  registerSync(kpt, io);
  registerExec(kpt, io);
}

function registerSync(parent: Command, io: Io): void {
  withOutput(withResolution(parent.command('sync')))
    .summary('Fill in the images of a Kptfile.')
    .description(
      'Fill in what runs each function of a Kptfile and its subpackages, by the kind of its functionConfig.',
    )
    .argument('[folder]', 'Folder of the package.', '.')
    .option('--check', 'Print what would change, and write nothing. The exit code is 1 if something would.')
    .addHelpText(
      'after',
      `
A function gets \`image: NAME@sha256:…\`, or for an executable an \`exec:\` that
runs \`krmhub kpt exec\`. Everything else in the Kptfile stays as it is. A Kptfile
names its catalogs in the annotation krmhub.dev/catalogs, one in each line;
without it, those of krmhub.lock are used. An image of a function that no
catalog has stays.

Examples:
  krmhub kpt sync package --catalog default
  krmhub kpt sync package --catalog https://krm.example.com/catalogs/default
  krmhub kpt sync package --catalog default --check`,
    )
    .action(async (folder: string, options: SyncCommandOptions) => {
      const { syncPackage } = await import('../kpt/sync-package.js');
      const { lock, frozen = false, check = false, output } = options;
      await syncPackage(io, folder, {
        resolution: readResolution(options),
        ...(lock === undefined ? {} : { lock }),
        frozen,
        check,
        output,
      });
    });
}

function registerExec(parent: Command, io: Io): void {
  parent
    .command('exec')
    .summary('Run an executable for kpt.')
    .description(
      'Run the executable of this platform with the ResourceList from stdin, after it is verified.',
    )
    .argument('<executable...>', 'OS/ARCH=URI#sha256=DIGITS; &bin=NAME names it in an archive.')
    .addHelpText(
      'after',
      `
\`krmhub kpt sync\` writes this command into a Kptfile. kpt runs it only with
--allow-exec.`,
    )
    .action(async (executables: string[]) => {
      const { runExec } = await import('../kpt/run-exec.js');
      await runExec(io, executables);
    });
}
