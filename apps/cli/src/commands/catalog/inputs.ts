import type { Command } from 'commander';
import type { ExportOptions } from '../../catalogs/build/export-inputs.js';
import type { Io } from '../../io/io.js';
import { withOutput, withRegistry } from '../options.js';
import { withCatalogName } from './catalog-name.js';

export function registerCatalogInputs(parent: Command, io: Io): void {
  withOutput(withRegistry(withCatalogName(parent.command('inputs'))))
    .description('Export what a registry makes a catalog from, to build the same bytes elsewhere (admin).')
    .requiredOption('--out <folder>', 'Folder to write to; an earlier export in it is replaced.')
    .addHelpText(
      'after',
      `
Written are the recipe, the last good copy of every source as it was fetched,
since when its entries are there, who has signed it, every function of the
registry with its releases, the clock by which ages are judged, and
snapshot.json. All is of one moment: where something changes meanwhile, the
export begins anew.

Copies may come from where others may not look, so that this takes a token of an
administrator. \`krmhub catalog build --inputs\` needs no network.

Examples:
  krmhub catalog inputs platform --out platform
  krmhub catalog build --inputs platform --out catalog.yaml`,
    )
    .action(async (name: string, options: ExportOptions) => {
      const { exportInputs } = await import('../../catalogs/build/export-inputs.js');
      await exportInputs(io, name, options);
    });
}
