import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import type { OutputFormat } from '../io/print.js';
import { type ResolutionOptions, readResolution, withOutput, withResolution } from './options.js';

interface LockCommandOptions extends ResolutionOptions {
  check?: boolean;
  upgrade?: string[] | true;
  output: OutputFormat;
}

export function registerLock(program: Command, io: Io): void {
  withOutput(withResolution(program.command('lock')))
    .summary('Lock the functions of a package.')
    .description('Write to krmhub.lock which function runs for each functionConfig of a package, by digest.')
    .argument(
      '<path>',
      'Folder with a kustomization, Composition or Kptfile, or a file with functionConfigs.',
    )
    .option('--check', 'Change nothing. Exit with 1 and show the difference if the file is out of date.')
    .option('--upgrade [kind...]', 'Resolve these kinds again, by default all, and show what changes.')
    .addHelpText(
      'after',
      `
What is locked stays as it is until you upgrade it. New functions are added, and
those that the package no longer uses are removed. If a function cannot be
resolved, the command writes nothing. Commit krmhub.lock with the package.

An upgrade is shown in the classes of \`krmhub catalog diff\`. docs/lock.md
explains the file.

Exit codes: 0 done, 1 out of date (--check) or a file has a problem, 3 a
function is not found, 4 a catalog or signer is not trusted.

Examples:
  krmhub lock app --trusted-catalog https://krm.example.com/catalogs/default
  krmhub lock app -c default --check
  krmhub lock app -c default --upgrade
  krmhub lock app -c default --upgrade SetLabels -o json`,
    )
    .action(async (target: string, options: LockCommandOptions) => {
      const { lockPackage } = await import('../lock/lock-package.js');
      const { check = false, upgrade, output, lock } = options;
      await lockPackage(io, target, {
        ...readResolution(options),
        check,
        output,
        ...(upgrade === undefined ? {} : { upgrade: upgrade === true ? [] : upgrade }),
        ...(lock === undefined ? {} : { lockFile: lock }),
      });
    });
}
