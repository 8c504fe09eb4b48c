import { type Diagnostic, SEVERITIES } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { type Io, write } from '../../io/io.js';
import type { LintFilesOptions } from './lint-options.js';
import type { FileReport } from './lint-source.js';
import type { Totals } from './totals.js';

/** Prints the results of lint. Receives the files with diagnostics, in order. */
export interface ReportWriter {
  /** True if it prints before the end. */
  streams: boolean;
  /** True if it prints lines of the files. */
  needsBytes: boolean;
  add(report: FileReport): Promise<void>;
  end(totals: Totals): Promise<void>;
}

/** Maximum number of findings in one document; GitHub accepts 25,000 in a SARIF file. */
const MAX_FINDINGS = 20_000;

export async function reportWriter(io: Io, options: LintFilesOptions): Promise<ReportWriter> {
  switch (options.output) {
    case 'text':
      return textWriter(io);
    case 'github':
      return githubWriter(io);
    case 'json':
      return documentWriter(io, async (totals, diagnostics) => jsonReport(totals, diagnostics));
    case 'sarif': {
      const { sarifLog } = await import('./sarif.js');
      const { ruleset, rulesUrl } = options;
      return documentWriter(io, async (_, diagnostics, more) =>
        sarifLog(diagnostics, { cwd: io.cwd, ruleset, rulesUrl, more }),
      );
    }
  }
}

/** Prints errors as they are found, then the other diagnostics, grouped by code. */
async function textWriter(io: Io): Promise<ReportWriter> {
  const { printDiagnostics, summaryLine } = await import('../../io/diagnostics.js');
  const { DiagnosticGroups } = await import('../../io/warnings.js');
  const { skippedText } = await import('./totals.js');
  const groups = new DiagnosticGroups();
  return {
    streams: true,
    needsBytes: true,
    add: async ({ name, diagnostics, bytes = new Uint8Array() }) => {
      const sources = new Map([[name, bytes]]);
      const isError = ({ severity }: Diagnostic) => severity === 'error';
      await printDiagnostics(io, io.stdout, diagnostics.filter(isError), sources);
      groups.add(
        diagnostics.filter((one) => !isError(one)),
        sources,
      );
    },
    end: async (totals) => {
      await groups.print(io, io.stdout);
      await write(io.stdout, `${summaryLine(totals.files, totals.findings)}${skippedText(totals)}\n`);
    },
  };
}

/** Prints annotations for GitHub checks, and a summary for the log. */
async function githubWriter(io: Io): Promise<ReportWriter> {
  const { annotation } = await import('./github.js');
  const { summaryLine } = await import('../../io/diagnostics.js');
  const { skippedText } = await import('./totals.js');
  const root = io.env.GITHUB_WORKSPACE;
  const place = { cwd: io.cwd, root: root === undefined || root === '' ? io.cwd : root };
  return {
    streams: true,
    needsBytes: false,
    add: ({ diagnostics }) =>
      write(io.stdout, diagnostics.map((one) => `${annotation(one, place)}\n`).join('')),
    end: (totals) =>
      write(io.stdout, `${summaryLine(totals.files, totals.findings)}${skippedText(totals)}\n`),
  };
}

/** For formats that are one document: collects findings up to the limit and prints them at the end. */
function documentWriter(
  io: Io,
  document: (totals: Totals, diagnostics: readonly Diagnostic[], more: string | undefined) => Promise<object>,
): ReportWriter {
  const collected: Diagnostic[] = [];
  let left = 0;
  return {
    streams: false,
    needsBytes: false,
    add: async ({ diagnostics }) => {
      const room = Math.max(MAX_FINDINGS - collected.length, 0);
      collected.push(...diagnostics.slice(0, room));
      left += Math.max(diagnostics.length - room, 0);
    },
    end: async (totals) => {
      const { printJson } = await import('../../io/print.js');
      const more =
        left === 0
          ? undefined
          : `${left} more findings are not listed; fix these and run \`krmhub lint\` again`;
      await printJson(io, await document(totals, collected, more));
    },
  };
}

function jsonReport({ files, findings }: Totals, diagnostics: readonly Diagnostic[]): object {
  const total = SEVERITIES.reduce((sum, severity) => sum + findings[severity], 0);
  const omitted = total - diagnostics.length;
  return {
    files,
    errors: findings.error,
    warnings: findings.warning,
    ...defined({ omitted: omitted === 0 ? undefined : omitted }),
    diagnostics: diagnostics.map(({ code, severity, message, file, path, range, hint }) => ({
      code,
      severity,
      message,
      file,
      path,
      ...defined({ line: range?.start.line, column: range?.start.column, hint }),
    })),
  };
}
