import { type Diagnostic, SEVERITIES } from '@krmhub/schema';
import { type Io, write } from '../../io/io.js';
import type { LintFilesOptions } from './lint-options.js';
import type { FileReport } from './lint-source.js';
import type { Totals } from './totals.js';

/** Prints what lint finds. Files are added in their order, those with diagnostics only. */
export interface ReportWriter {
  /** Whether it prints before the end. */
  streams: boolean;
  /** Whether it shows lines of the files. */
  needsBytes: boolean;
  add(report: FileReport): Promise<void>;
  end(totals: Totals): Promise<void>;
}

/** Findings in one document: GitHub takes 25,000 in a SARIF file, and nobody mends more before linting again. */
const MAX_FINDINGS = 20_000;

export async function reportWriter(io: Io, options: LintFilesOptions): Promise<ReportWriter> {
  switch (options.format) {
    case 'text':
      return textWriter(io);
    case 'github':
      return githubWriter(io);
    case 'json':
      return documentWriter(io, async (totals, diagnostics) => jsonReport(totals, diagnostics));
    case 'sarif': {
      const { sarifLog } = await import('./sarif.js');
      const { ruleset: profile, rulesUrl } = options;
      return documentWriter(io, async (_, diagnostics, more) =>
        sarifLog(diagnostics, { cwd: io.cwd, ruleset: profile, rulesUrl, more }),
      );
    }
  }
}

async function textWriter(io: Io): Promise<ReportWriter> {
  const { printDiagnostics, summaryLine } = await import('../../io/diagnostics.js');
  const { passedOverText } = await import('./totals.js');
  return {
    streams: true,
    needsBytes: true,
    add: ({ name, diagnostics, bytes = new Uint8Array() }) =>
      printDiagnostics(io, io.stdout, diagnostics, new Map([[name, bytes]])),
    end: (totals) =>
      write(io.stdout, `${summaryLine(totals.files, totals.findings)}${passedOverText(totals)}\n`),
  };
}

/** Annotations of GitHub's checks; the summary is for those who read the log. */
async function githubWriter(io: Io): Promise<ReportWriter> {
  const { annotation } = await import('./github.js');
  const { summaryLine } = await import('../../io/diagnostics.js');
  const { passedOverText } = await import('./totals.js');
  const root = io.env.GITHUB_WORKSPACE;
  const place = { cwd: io.cwd, root: root === undefined || root === '' ? io.cwd : root };
  return {
    streams: true,
    needsBytes: false,
    add: ({ diagnostics }) =>
      write(io.stdout, diagnostics.map((one) => `${annotation(one, place)}\n`).join('')),
    end: (totals) =>
      write(io.stdout, `${summaryLine(totals.files, totals.findings)}${passedOverText(totals)}\n`),
  };
}

/** For formats that are one document: findings are held until the end, up to a number. */
function documentWriter(
  io: Io,
  document: (totals: Totals, diagnostics: readonly Diagnostic[], more: string | undefined) => Promise<object>,
): ReportWriter {
  const kept: Diagnostic[] = [];
  let left = 0;
  return {
    streams: false,
    needsBytes: false,
    add: async ({ diagnostics }) => {
      const room = Math.max(MAX_FINDINGS - kept.length, 0);
      kept.push(...diagnostics.slice(0, room));
      left += Math.max(diagnostics.length - room, 0);
    },
    end: async (totals) => {
      const { jsonText } = await import('../../io/print.js');
      const more = left === 0 ? undefined : `${left} more findings are not told; mend these and lint again`;
      await write(io.stdout, jsonText(await document(totals, kept, more)));
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
    ...(omitted === 0 ? {} : { omitted }),
    diagnostics: diagnostics.map(({ code, severity, message, file, path, range, hint }) => ({
      code,
      severity,
      message,
      file,
      path,
      ...(range === undefined ? {} : { line: range.start.line, column: range.start.column }),
      ...(hint === undefined ? {} : { hint }),
    })),
  };
}
