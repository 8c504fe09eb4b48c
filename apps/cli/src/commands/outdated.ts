import { defined } from '@krmhub/schema/defined';
import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import type { OutputFormat } from '../io/print.js';
import {
  type CatalogOptions,
  type ImagePrefixOptions,
  readResolution,
  withCatalogs,
  withImagePrefix,
  withOutput,
} from './options.js';

interface OutdatedCommandOptions extends CatalogOptions, ImagePrefixOptions {
  recursive?: boolean;
  check?: boolean;
  lock?: string;
  output: OutputFormat;
}

export function registerOutdated(program: Command, io: Io): void {
  withOutput(withImagePrefix(withCatalogs(program.command('outdated'))))
    .summary('List what is outdated in packages.')
    .description(
      'List what is locked for each functionConfig and image of a package, what would be locked now, and what is newest.',
    )
    .argument(
      '<path>',
      'Folder with a kustomization, Composition, or Kptfile, or a file with functionConfigs.',
    )
    .option('-r, --recursive', 'Also the packages in all folders below it.')
    .option('--check', 'Exit with 1 if something is behind in its range.')
    .option('--lock <file>', 'Use this lock file. Default: krmhub.lock, if it exists.')
    .addHelpText(
      'after',
      `
The command writes nothing, and runs nothing. It asks the registry of a catalog
for its releases, and the registry of an image that no catalog has for its tags.
krmhub docs upgrade describes the output.

Exit codes: 0, else the first that applies: 4 a catalog is not trusted, 3 a
function is not found, 1 something is behind (--check) or a file has a problem,
6 not allowed, 5 a registry cannot be reached.

Examples:
  krmhub outdated app -c default
  krmhub outdated app -c default -r --check
  krmhub outdated app -c default -o json`,
    )
    .action(async (target: string, options: OutdatedCommandOptions) => {
      const { outdatedPackages } = await import('../outdated/outdated.js');
      const { recursive = false, check = false, lock, output, imagePrefix } = options;
      await outdatedPackages(io, target, {
        ...(await readResolution(io, options)),
        recursive,
        check,
        output,
        ...defined({ lockFile: lock, imagePrefix }),
      });
    });
}
