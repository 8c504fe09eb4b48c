import type { Command } from 'commander';
import type { ExportOptions } from '../../catalogs/build/export-inputs.js';
import type { Io } from '../../io/io.js';
import { withCatalogName, withOutput, withRegistry } from '../options.js';

export function registerCatalogInputs(parent: Command, io: Io): void {
  withOutput(withRegistry(withCatalogName(parent.command('inputs'))))
    .summary('Export the inputs of a catalog (admin).')
    .description('Export the inputs of a catalog, to rebuild the same bytes without a registry (admin).')
    .requiredOption('--out <folder>', 'Folder for the export; it replaces an earlier one. Required.')
    .addHelpText(
      'after',
      `
The export contains the recipe, the last good copy of every source, the age and
the signers of its entries, every function of the registry with its releases,
the build time, and snapshot.json. If the registry changes during the export,
the command starts again, so that all files are from one moment.

The command needs an admin token, because a source can require credentials that
you do not have. \`krmhub catalog build --inputs\` needs no network.

Examples:
  krmhub catalog inputs platform --out platform
  krmhub catalog build --inputs platform --out catalog.yaml`,
    )
    .action(async (name: string, options: ExportOptions) => {
      const { exportInputs } = await import('../../catalogs/build/export-inputs.js');
      await exportInputs(io, name, options);
    });
}
