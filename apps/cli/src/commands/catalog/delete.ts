import type { Command } from 'commander';
import type { DeleteOptions } from '../../catalogs/delete-catalog.js';
import type { Io } from '../../io/io.js';
import { withCatalogName, withOutput, withRegistry } from '../options.js';

export function registerCatalogDelete(parent: Command, io: Io): void {
  withOutput(withRegistry(withCatalogName(parent.command('delete'))))
    .summary('Delete a catalog (admin).')
    .description('Delete a catalog of a registry. Its name stays reserved (admin).')
    .requiredOption('--reason <text>', 'Public reason. Required.')
    .option('--yes', 'Do not ask for confirmation.')
    .addHelpText(
      'after',
      `
All addresses of the catalog then return 410 with the reason, also over OCI, and
search excludes its upstream functions. Releases of the registry stay. In a
terminal, the command asks for confirmation. Without one, use --yes.

The registry keeps the recipe, the snapshots, and the copies of the sources. To
undo the deletion within 30 days, or the period that the operator sets, use
\`krmhub catalog restore\`.

Examples:
  krmhub catalog delete platform --reason "merged into default" --yes`,
    )
    .action(async (name: string, options: DeleteOptions) => {
      const { deleteCatalog } = await import('../../catalogs/delete-catalog.js');
      await deleteCatalog(io, name, options);
    });
}
