import { type Diagnostic, KrmhubError, type LintProfile, type LintResult, lint } from '@krmhub/schema';
import { FINDINGS } from './exit-code.js';
import { type Io, write } from './io.js';
import { printDiagnostics, summaryLine } from './output/diagnostics.js';
import { jsonText } from './output/print.js';
import { Progress } from './output/progress.js';
import { plural } from './output/text.js';
import { readSources } from './source-files.js';

/** What a file of a folder may hold besides definitions and catalogs without being a problem. */
const FOREIGN = new Set(['dialect/unknown-document', 'yaml/empty']);

/** Whether every document of a file is of another kind, or there is none. */
export function holdsSomethingElse({ documents, diagnostics }: LintResult): boolean {
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  return documents.length === 0 && errors.length > 0 && errors.every(({ code }) => FOREIGN.has(code));
}

/** Prints the report on stdout and sets the exit code. */
export async function lintFiles(
  io: Io,
  names: readonly string[],
  options: { format: 'text' | 'json'; profile: LintProfile },
): Promise<void> {
  const diagnostics: Diagnostic[] = [];
  const sources = new Map<string, Uint8Array>();
  const progress = new Progress(io);
  let files = 0;
  let passedOver = 0;
  for await (const { name, bytes, explicit } of readSources(io, names)) {
    if (sources.has(name)) continue;
    await progress.show(`${files + 1} ${name}`);
    const result = lint(bytes, { file: name, profile: options.profile });
    if (!explicit && holdsSomethingElse(result)) {
      passedOver++;
      continue;
    }
    files++;
    // Of a file without problems no line is going to be shown.
    sources.set(name, result.diagnostics.length === 0 ? new Uint8Array() : bytes);
    diagnostics.push(...result.diagnostics);
  }
  await progress.clear();
  if (files === 0) {
    throw new KrmhubError('not-found', `there is no definition or catalog in ${names.join(', ')}`, {
      hint: 'Start one with `krmhub init`, or make definitions of other files with `krmhub convert`.',
    });
  }
  const errors = diagnostics.filter(({ severity }) => severity === 'error').length;
  if (errors > 0) io.exitCode = FINDINGS;
  if (options.format === 'json') return write(io.stdout, jsonText(report(files, diagnostics)));
  await printDiagnostics(io, io.stdout, diagnostics, sources);
  const others = passedOver === 0 ? '' : `; ${plural(passedOver, 'file')} of other kinds passed over`;
  await write(io.stdout, `${summaryLine(files, diagnostics)}${others}\n`);
}

function report(files: number, diagnostics: readonly Diagnostic[]) {
  const count = (wanted: Diagnostic['severity']) =>
    diagnostics.filter(({ severity }) => severity === wanted).length;
  return {
    files,
    errors: count('error'),
    warnings: count('warning'),
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
