import { type Command, Option } from 'commander';
import type { Io } from '../../io/io.js';
import type { OutputFormat } from '../../io/print.js';
import { countUpTo, withCatalogName, withOutput, withRegistry } from '../options.js';

/** The largest page of the registry. */
const MAX_SNAPSHOTS = 1_000;
const DEFAULT_SNAPSHOTS = 100;

interface HistoryOptions {
  limit: number;
  all?: boolean;
  registry?: string;
  output: OutputFormat;
}

export function registerCatalogHistory(parent: Command, io: Io): void {
  withOutput(withRegistry(withCatalogName(parent.command('history'))))
    .summary('List the snapshots of a catalog.')
    .description('List the snapshots of a catalog, newest first.')
    .option(
      '--limit <count>',
      `Maximum number of snapshots, up to ${MAX_SNAPSHOTS}.`,
      countUpTo(MAX_SNAPSHOTS),
      DEFAULT_SNAPSHOTS,
    )
    .addOption(new Option('--all', 'Print all snapshots.').conflicts('limit'))
    .addHelpText(
      'after',
      '\nExamples:\n  krmhub catalog history default\n  krmhub catalog history default --limit 5 -o json',
    )
    .action(async (name: string, options: HistoryOptions) => {
      const { listSnapshots } = await import('../../catalogs/list-catalogs.js');
      await listSnapshots(io, name, options);
    });
}
