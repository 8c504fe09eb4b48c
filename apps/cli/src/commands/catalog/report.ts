import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import type { Io } from '../../io/io.js';
import { type OutputFormat, printData, say } from '../../io/print.js';
import { connect } from '../../registry/connection.js';
import { withOutput, withRegistry } from '../options.js';
import { ofCatalog, withCatalogName } from './catalog-name.js';

interface ReportOptions {
  snapshot?: string;
  registry?: string;
  output: OutputFormat;
}

export function registerCatalogReport(parent: Command, io: Io): void {
  withOutput(withRegistry(withCatalogName(parent.command('report'))))
    .description('Say what a catalog leaves out and why, and how its sources are.')
    .option('--snapshot <serial>', 'As it was when this snapshot was cut; as it is now by default.', serialOf)
    .addHelpText(
      'after',
      `
Sections: sources, claims of groups that belong to others, what was refused by
the recipe's policy, what an earlier source had already (shadowed), yanked
releases, and entries of sources that cannot be used. Without a terminal these
are lines that begin with the section.

Examples:
  krmhub catalog report platform
  krmhub catalog report platform --snapshot 7 -o json`,
    )
    .action(async (name: string, options: ReportOptions) => {
      const { countsLine, printReport, reportCounts } = await import('../../catalogs/catalog-report.js');
      const client = await connect(io, options.registry);
      const report = await ofCatalog(
        options.snapshot === undefined
          ? client.catalogReport(name)
          : client.snapshotReport(name, options.snapshot),
      );
      await printData(io, options.output, report, () => printReport(io, report));
      const snapshot = report.serial === 0 ? 'no snapshot yet' : `snapshot ${report.serial}`;
      const counts = reportCounts(report);
      await say(io, `${name}, ${snapshot}: ${countsLine(counts)}`);
      if (counts.failing > 0 && options.snapshot === undefined) {
        await say(io, `Since when, and what to do: krmhub source list ${name}`);
      }
    });
}

function serialOf(value: string): string {
  if (/^[1-9]\d{0,14}$/.test(value)) return value;
  throw new InvalidArgumentError('It is no serial (1, 2, …).');
}
