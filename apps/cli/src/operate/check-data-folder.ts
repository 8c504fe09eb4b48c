import { checkRegistry } from '@krmhub/registry/operate';
import { escapeControls, plural } from '@krmhub/schema/text';
import { FINDINGS, SUCCESS } from '../io/exit-code.js';
import { type Io, paint } from '../io/io.js';
import { type OutputFormat, printData, printLine, printTable } from '../io/print.js';
import { Progress } from '../io/progress.js';
import { resolveStorage } from './data-folder.js';

interface Finding {
  check: string;
  severity: string;
  subject: string;
  message: string;
}

/** Checks a data folder, prints every problem and sets the exit code. */
export async function checkDataFolder(
  io: Io,
  options: { data?: string; databaseUrl?: string; output: OutputFormat },
): Promise<void> {
  const { dataFolder, ...places } = await resolveStorage(io, options);
  const progress = new Progress(io);
  const result = await checkRegistry(dataFolder, {
    ...places,
    startedAt: io.now(),
    progress: (line) => progress.show(line),
  }).finally(() => progress.clear());
  const { healthy, ...rest } = result;
  await printData(io, options.output, { whole: healthy, ...rest }, () =>
    result.findings.length === 0 ? Promise.resolve() : printFindings(io, result.findings),
  );
  const { functions, releases, snapshots, events } = result.counts;
  const counts = [
    plural(functions, 'function'),
    plural(releases, 'release'),
    plural(snapshots, 'snapshot'),
    plural(events, 'event'),
  ].join(', ');
  const damaged = result.findings.filter(({ severity }) => severity === 'damage');
  const verdict = healthy
    ? paint(io, io.stderr, 'green', 'no problems')
    : paint(io, io.stderr, ['bold', 'red'], plural(damaged.length, 'problem'));
  await printLine(io, `${escapeControls(dataFolder)}: ${verdict} (${counts})`);
  for (const hint of new Set(damaged.flatMap((one) => one.hint ?? [])))
    await printLine(io, `  hint: ${hint}`);
  io.exitCode = healthy ? SUCCESS : FINDINGS;
}

async function printFindings(io: Io, findings: readonly Finding[]): Promise<void> {
  const cells = ({ severity, check, subject, message }: Finding) => [severity, check, subject, message];
  await printTable(
    io,
    [
      { header: 'SEVERITY' },
      { header: 'CHECK' },
      { header: 'OBJECT', min: 20 },
      { header: 'PROBLEM', min: 30 },
    ],
    findings,
    { terminal: cells, pipe: cells },
  );
}
