import type { Command } from 'commander';
import type { Io } from '../../io/io.js';
import type { OutputFormat } from '../../io/print.js';
import { withOutput, withRegistry } from '../options.js';

export function registerCatalogList(parent: Command, io: Io): void {
  withOutput(withRegistry(parent.command('list')))
    .summary('List the catalogs of a registry.')
    .description('List the catalogs of a registry with their newest snapshots.')
    .addHelpText('after', '\nExamples:\n  krmhub catalog list\n  krmhub catalog list -o json')
    .action(async (options: { registry?: string; output: OutputFormat }) => {
      const { listCatalogs } = await import('../../catalogs/list-catalogs.js');
      await listCatalogs(io, options);
    });
}
