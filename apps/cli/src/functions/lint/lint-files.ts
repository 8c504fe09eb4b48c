import { KrmhubError, type LintProfile, type Severity } from '@krmhub/schema';
import { type FoundFiles, findSources, OCI_SCHEME, readFound, STDIN_NAME } from '../../files/source-files.js';
import { FINDINGS } from '../../io/exit-code.js';
import type { Io } from '../../io/io.js';
import { Progress } from '../../io/progress.js';
import { plural } from '../../io/text.js';
import type { LintFormat } from './formats.js';
import { type FileReport, type LintSourceOptions, lintSource } from './lint-source.js';
import { type ReportWriter, reportWriter } from './report-writer.js';

export interface LintFilesOptions {
  format: LintFormat;
  profile: LintProfile;
  skipOthers?: boolean;
  rulesUrl?: string;
}

/** What was looked at, and what was found in it. */
export interface Totals {
  files: number;
  findings: Record<Severity, number>;
  /** Files and documents of other kinds, and folders of Helm templates. */
  passedOver: { files: number; documents: number; templates: number };
}

/** Prints the report on stdout, each file as soon as it is its turn, and sets the exit code. */
export async function lintFiles(io: Io, names: readonly string[], options: LintFilesOptions): Promise<void> {
  const { files, templates } = await findSources(io, names);
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
  files: FoundFiles['files'],
  { profile, skipOthers = false }: LintFilesOptions,
  { needsBytes }: ReportWriter,
): AsyncGenerator<FileReport> {
  const options: LintSourceOptions = { profile, skipOthers, cwd: io.cwd };
  const { lintInThreads, threadsFor } = await import('./threads.js');
  // Threads have neither stdin nor credentials.
  const here = files.some(({ name }) => name === STDIN_NAME || name.startsWith(OCI_SCHEME));
  const threads = here ? 0 : threadsFor(files.length);
  if (threads > 0) {
    yield* lintInThreads(files, { ...options, keepBytes: needsBytes }, threads);
    return;
  }
  for (const file of files) yield await lintSource(await readFound(io, file), options);
}

/** `; 2 files and 1 document of other kinds passed over`, or nothing. */
export function passedOverText({ passedOver: { files, documents, templates } }: Totals): string {
  const others = [
    ...(files === 0 ? [] : [plural(files, 'file')]),
    ...(documents === 0 ? [] : [plural(documents, 'document')]),
  ];
  const said = [
    ...(others.length === 0 ? [] : [`${others.join(' and ')} of other kinds passed over`]),
    ...(templates === 0 ? [] : [`${plural(templates, 'folder')} of Helm templates passed over`]),
  ];
  return said.map((part) => `; ${part}`).join('');
}
