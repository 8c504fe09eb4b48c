import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine } from '../io/print.js';
import { connect } from '../registry/connection.js';
import { countsLine, printReport, reportCounts } from './catalog-report.js';

export interface ReportOptions {
  snapshot?: number;
  registry?: string;
  output: OutputFormat;
}

/** Prints the report of a catalog, or of one of its snapshots. */
export async function reportCatalog(io: Io, name: string, options: ReportOptions): Promise<void> {
  const client = await connect(io, options.registry);
  const report = await (options.snapshot === undefined
    ? client.catalogReport(name)
    : client.snapshotReport(name, String(options.snapshot)));
  await printData(io, options.output, report, () => printReport(io, report));
  const snapshot = report.serial === 0 ? 'no snapshot yet' : `snapshot ${report.serial}`;
  const counts = reportCounts(report);
  await printLine(io, `${name}, ${snapshot}: ${countsLine(counts)}`);
  if (counts.failing > 0 && options.snapshot === undefined) {
    await printLine(io, `  hint: Show the failing sources: krmhub source list ${name}`);
  }
}
