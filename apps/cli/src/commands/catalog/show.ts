import type { Command } from 'commander';
import type { Io } from '../../io/io.js';
import type { OutputFormat } from '../../io/print.js';
import { withCatalogName, withOutput, withRegistry } from '../options.js';

export function registerCatalogShow(parent: Command, io: Io): void {
  withOutput(withRegistry(withCatalogName(parent.command('show'))))
    .summary('Show a catalog.')
    .description('Show the newest snapshot, the URLs, and the recipe of a catalog.')
    .addHelpText('after', '\nExamples:\n  krmhub catalog show default\n  krmhub catalog show default -o json')
    .action(async (name: string, options: { registry?: string; output: OutputFormat }) => {
      const { showCatalog } = await import('../../catalogs/show-catalog.js');
      await showCatalog(io, name, options);
    });
}
