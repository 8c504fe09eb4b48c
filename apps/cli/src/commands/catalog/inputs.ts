import type { Command } from 'commander';
import type { ExportOptions } from '../../catalogs/build/export-inputs.js';
import type { Io } from '../../io/io.js';
import { withCatalogName, withOutput, withRegistry, withSnapshotLimits } from '../options.js';

export function registerCatalogInputs(parent: Command, io: Io): void {
  withOutput(withSnapshotLimits(withRegistry(withCatalogName(parent.command('inputs')))))
    .summary('Export the inputs of a catalog (admin).')
    .description('Export the inputs of a catalog, to reproduce its build without a registry (admin).')
    .requiredOption('--out <folder>', 'Folder for the export. Replaces an earlier export. Required.')
    .addHelpText(
      'after',
      `
The export contains the recipe, the build time, snapshot.json, and every
function of the registry with its releases. For each source, it contains the
last good copy, and the age and signers of its entries. If the registry changes
during the export, the command starts again, so that all files are consistent.

The command requires an admin token, because a source can require credentials
that you do not have. \`krmhub catalog build --inputs\` does not use the network.

Examples:
  krmhub catalog inputs platform --out platform
  krmhub catalog build --inputs platform --out catalog.yaml`,
    )
    .action(async (name: string, options: ExportOptions) => {
      const { exportInputs } = await import('../../catalogs/build/export-inputs.js');
      await exportInputs(io, name, options);
    });
}
