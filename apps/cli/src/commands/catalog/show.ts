import { isCatalogName } from '@krmhub/consume/references/catalog-name';
import type { Command } from 'commander';
import type { Io } from '../../io/io.js';
import type { OutputFormat } from '../../io/print.js';
import { withOutput, withRegistry, withSnapshotLimits } from '../options.js';

export function registerCatalogShow(parent: Command, io: Io): void {
  withOutput(withSnapshotLimits(withRegistry(parent.command('show'))))
    .summary('Show a catalog.')
    .description('Show a catalog of the registry, or any other catalog before you trust it.')
    .argument('<catalog>', 'Name in the registry, URL, file, or oci://….')
    .addHelpText(
      'after',
      `
For a name, the command shows the newest snapshot, the URLs, and the recipe. For
another catalog, it shows who its functions say they are published by, whether a
pinned key signed it, and for each function what runs, whether that is pinned,
and what it may touch.

Examples:
  krmhub catalog show default
  krmhub catalog show default -o json
  krmhub catalog show ./catalog.yaml
  krmhub catalog show https://krm.example.com/catalogs/default`,
    )
    .action(async (catalog: string, options: { registry?: string; output: OutputFormat }) => {
      if (isCatalogName(catalog)) {
        const { showCatalog } = await import('../../catalogs/show-catalog.js');
        return showCatalog(io, catalog, options);
      }
      const { showUpstream } = await import('../../resolve/show-upstream.js');
      await showUpstream(io, catalog, options);
    });
}
