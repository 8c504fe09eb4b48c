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

interface LockCommandOptions extends ResolutionOptions, ImagePrefixOptions {
  check?: boolean;
  upgrade?: string[] | true;
  output: OutputFormat;
}

export function registerLock(program: Command, io: Io): void {
  withOutput(withImagePrefix(withResolution(program.command('lock'))))
    .summary('Lock the functions of a package.')
    .description(
      'Record in krmhub.lock, by digest, which function runs for each functionConfig of a package.',
    )
    .argument(
      '<path>',
      'Folder with a kustomization, Composition, or Kptfile, or a file with functionConfigs.',
    )
    .option('--check', 'Do not write. If the file is out of date, print the difference and exit with 1.')
    .option(
      '--upgrade [kind...]',
      'Resolve these kinds and images again, and print the changes. Default: all.',
    )
    .addHelpText(
      'after',
      `
Locked functions do not change until you upgrade them. The command adds new
functions, and removes unused functions. An image with a tag that the package
names itself is locked by its digest. If the command cannot resolve a function,
it does not write the file. Commit krmhub.lock with the package.

The command prints upgrades in the classes of \`krmhub catalog diff\`.
krmhub docs lock describes the file.

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
      const { check = false, upgrade, output, lock, imagePrefix } = options;
      await lockPackage(io, target, {
        ...(await readResolution(io, options)),
        check,
        output,
        ...defined({ upgrade: upgrade === undefined ? undefined : upgrade === true ? [] : upgrade }),
        ...defined({ lockFile: lock, imagePrefix }),
      });
    });
}
