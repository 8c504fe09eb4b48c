/**
 * Lints files, and reports the problems as text, JSON, SARIF, or GitHub annotations.
 *
 * Many files are linted in threads. The report has the order of the files in both cases.
 *
 * @module
 */

import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import {
  type DocumentFileList,
  findDocumentFiles,
  OCI_SCHEME,
  readDocumentFile,
} from '../../documents/document-files.js';
import { readRelease } from '../../documents/read-definitions.js';
import { FINDINGS } from '../../io/exit-code.js';
import type { Io } from '../../io/io.js';
import { Progress } from '../../io/progress.js';
import { STDIN_NAME } from '../../io/read-stdin.js';
import type { LintFilesOptions } from './lint-options.js';
import { type FileReport, type LintSourceOptions, lintSource } from './lint-source.js';
import { type ReportWriter, reportWriter } from './report-writer.js';
import type { Totals } from './totals.js';

/** Lints files, prints the report in the order of the files, and sets the exit code. */
export async function lintFiles(io: Io, names: readonly string[], options: LintFilesOptions): Promise<void> {
  const { files, templates } = await findDocumentFiles(io, names, { scripts: true });
  const totals: Totals = {
    files: 0,
    findings: { error: 0, warning: 0, info: 0 },
    skipped: { files: 0, documents: 0, templates: templates.length },
  };
  const progress = new Progress(io);
  const writer = await reportWriter(io, options);
  let done = 0;
  for await (const report of lintAll(io, files, options, writer)) {
    done++;
    await progress.tick(() => `linting ${done}/${files.length} ${report.name}`);
    if (report.skipped) {
      totals.skipped.files++;
      continue;
    }
    totals.files++;
    totals.skipped.documents += report.skippedDocuments;
    for (const { severity } of report.diagnostics) totals.findings[severity]++;
    if (report.diagnostics.length === 0) continue;
    if (writer.streams) await progress.clear();
    await writer.add(report);
  }
  await progress.clear();
  if (totals.files === 0 && options.skipOthers !== true) {
    throw new KrmhubError('not-found', `no definition or catalog in ${names.join(', ')}`, {
      hint: 'Create a definition with `krmhub init GROUP/KIND`, or convert other files with `krmhub convert`.',
    });
  }
  if (totals.findings.error > 0) io.exitCode = FINDINGS;
  await writer.end(totals);
}

/** Lints files, in threads if there are many. Yields the reports in the order of the files. */
async function* lintAll(
  io: Io,
  files: DocumentFileList['files'],
  { ruleset, skipOthers = false, release }: LintFilesOptions,
  { needsBytes }: ReportWriter,
): AsyncGenerator<FileReport> {
  const options: LintSourceOptions = {
    ruleset,
    skipOthers,
    cwd: io.cwd,
    ...defined({ release: release === undefined ? undefined : readRelease(release) }),
  };
  const { lintInThreads, threadsFor } = await import('./threads.js');
  // Threads have no stdin and no credentials.
  const here = files.some(({ name }) => name === STDIN_NAME || name.startsWith(OCI_SCHEME));
  const threads = here ? 0 : threadsFor(files.length);
  if (threads > 0) {
    yield* lintInThreads(files, { ...options, keepBytes: needsBytes }, threads);
    return;
  }
  for (const file of files) yield await lintSource(await readDocumentFile(io, file), options);
}
