import type { Command } from 'commander';
import type { Io } from '../../io/io.js';
import type { OutputFormat } from '../../io/print.js';
import { withCatalogName, withOutput, withRegistry } from '../options.js';

export function registerCatalogRestore(parent: Command, io: Io): void {
  withOutput(withRegistry(withCatalogName(parent.command('restore'))))
    .summary('Restore a deleted catalog (admin).')
    .description('Restore a deleted catalog with its recipe and its snapshots (admin).')
    .addHelpText(
      'after',
      `
The registry syncs the sources and builds a snapshot with current releases.
\`krmhub catalog list\` shows deleted catalogs and their periods.

Examples:
  krmhub catalog restore platform`,
    )
    .action(async (name: string, options: { registry?: string; output: OutputFormat }) => {
      const { restoreCatalog } = await import('../../catalogs/delete-catalog.js');
      await restoreCatalog(io, name, options);
    });
}
