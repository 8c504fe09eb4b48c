import { KrmhubError } from '@krmhub/schema';
import {
  type DocumentFileList,
  findDocumentFiles,
  OCI_SCHEME,
  readDocumentFile,
} from '../../documents/document-files.js';
import { STDIN_NAME } from '../../files/read-file.js';
import { FINDINGS } from '../../io/exit-code.js';
import type { Io } from '../../io/io.js';
import { Progress } from '../../io/progress.js';
import type { LintFilesOptions } from './lint-options.js';
import { type FileReport, type LintSourceOptions, lintSource } from './lint-source.js';
import { type ReportWriter, reportWriter } from './report-writer.js';
import type { Totals } from './totals.js';

/** Prints the report on stdout, each file as soon as it is its turn, and sets the exit code. */
export async function lintFiles(io: Io, names: readonly string[], options: LintFilesOptions): Promise<void> {
  const { files, templates } = await findDocumentFiles(io, names);
  const totals: Totals = {
    files: 0,
    findings: { error: 0, warning: 0, info: 0 },
    passedOver: { files: 0, documents: 0, templates: templates.length },
  };
  const progress = new Progress(io);
  const writer = await reportWriter(io, options);
  let looked = 0;
  for await (const report of reportsOf(io, files, options, writer)) {
    looked++;
    await progress.tick(() => `linting ${looked}/${files.length} ${report.name}`);
    if (report.passedOver) {
      totals.passedOver.files++;
      continue;
    }
    totals.files++;
    totals.passedOver.documents += report.passedOverDocuments;
    for (const { severity } of report.diagnostics) totals.findings[severity]++;
    if (report.diagnostics.length === 0) continue;
    if (writer.streams) await progress.clear();
    await writer.add(report);
  }
  await progress.clear();
  if (totals.files === 0 && options.skipOthers !== true) {
    throw new KrmhubError('not-found', `there is no definition or catalog in ${names.join(', ')}`, {
      hint: 'Start one with `krmhub init`, or make definitions of other files with `krmhub convert`.',
    });
  }
  if (totals.findings.error > 0) io.exitCode = FINDINGS;
  await writer.end(totals);
}

/** In the order of the files, whatever runs at the same time. */
async function* reportsOf(
  io: Io,
  files: DocumentFileList['files'],
  { ruleset: profile, skipOthers = false }: LintFilesOptions,
  { needsBytes }: ReportWriter,
): AsyncGenerator<FileReport> {
  const options: LintSourceOptions = { ruleset: profile, skipOthers, cwd: io.cwd };
  const { lintInThreads, threadsFor } = await import('./threads.js');
  // Threads have neither stdin nor credentials.
  const here = files.some(({ name }) => name === STDIN_NAME || name.startsWith(OCI_SCHEME));
  const threads = here ? 0 : threadsFor(files.length);
  if (threads > 0) {
    yield* lintInThreads(files, { ...options, keepBytes: needsBytes }, threads);
    return;
  }
  for (const file of files) yield await lintSource(await readDocumentFile(io, file), options);
}
