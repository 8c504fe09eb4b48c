import type { Command } from 'commander';
import type { SourceOptions } from '../catalogs/sources/list-and-sync.js';
import type { Io } from '../io/io.js';
import { parseCatalogName, withOutput, withRegistry } from './options.js';

export function registerSource(program: Command, io: Io): void {
  const source = program
    .command('source')
    .summary('List and sync upstream catalogs.')
    .description('List and sync the upstream catalogs in the recipes of a registry.')
    .addHelpText(
      'after',
      `
Examples:
  krmhub source list
  krmhub source refresh platform`,
    );
  withOutput(withRegistry(source.command('list')))
    .summary('List the sources and their problems.')
    .description('List the sources of catalogs: state, entries, and problems.')
    .argument('[catalog]', 'Name of a catalog. Default: all catalogs.', parseCatalogName)
    .addHelpText(
      'after',
      `
States: current; stale (the last sync failed, and the catalog uses the last good
copy); missing (no good copy). CHANGED is the time of the copy, and POLLED is
the time of the last sync. The command prints problems below the table.

If stdout is not a terminal, each line contains: catalog, source, state,
entries, changed, polled, URL, failing since, problem, message.

Examples:
  krmhub source list
  krmhub source list platform -o json`,
    )
    .action(async (catalog: string | undefined, options: SourceOptions) => {
      const { listSources } = await import('../catalogs/sources/list-and-sync.js');
      await listSources(io, catalog, options);
    });
  withOutput(withRegistry(source.command('refresh')))
    .summary('Sync sources now (admin).')
    .description('Sync the sources of a catalog now, and wait for the snapshot (admin).')
    .argument('<catalog>', 'Name of the catalog.', parseCatalogName)
    .argument('[source...]', 'Names of sources in its recipe. Default: all sources.')
    .addHelpText(
      'after',
      `
The registry syncs sources on its own schedule. This command syncs them now,
waits for the next snapshot, and prints its serial. If a source fails, the
catalog keeps its last good copy.

Exit codes: 0 all synced, 3 unknown source, 5 a source failed.

Examples:
  krmhub source refresh platform
  krmhub source refresh platform banana melon`,
    )
    .action(async (catalog: string, names: string[], options: SourceOptions) => {
      const { syncSources } = await import('../catalogs/sources/list-and-sync.js');
      await syncSources(io, catalog, names, options);
    });
}
