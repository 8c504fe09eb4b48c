import type { Command } from 'commander';
import type { ReportOptions } from '../../catalogs/report-catalog.js';
import type { Io } from '../../io/io.js';
import { parseSerial, withCatalogName, withOutput, withRegistry } from '../options.js';

export function registerCatalogReport(parent: Command, io: Io): void {
  withOutput(withRegistry(withCatalogName(parent.command('report'))))
    .summary('Show what a catalog excludes.')
    .description('Show the state of the sources of a catalog, and the entries that it excludes.')
    .option(
      '--snapshot <serial>',
      'Show the report of this snapshot. Default: the current state.',
      parseSerial,
    )
    .addHelpText(
      'after',
      `
Sections: sources, claims (entries in groups of other sources), entries that the
recipe policy rejects, shadowed entries, yanked releases, and invalid entries.
If stdout is not a terminal, the command prints tab-separated lines that start
with the section.

Examples:
  krmhub catalog report platform
  krmhub catalog report platform --snapshot 7 -o json`,
    )
    .action(async (name: string, options: ReportOptions) => {
      const { reportCatalog } = await import('../../catalogs/report-catalog.js');
      await reportCatalog(io, name, options);
    });
}
