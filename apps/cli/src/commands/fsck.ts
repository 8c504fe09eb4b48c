import path from 'node:path';
import type { Command } from 'commander';
import { DONE, FINDINGS } from '../io/exit-code.js';
import { type Io, paint } from '../io/io.js';
import { type OutputFormat, printData, printTable, say } from '../io/print.js';
import { Progress } from '../io/progress.js';
import { plural, visible } from '../io/text.js';
import { withOutput } from './options.js';

export function registerFsck(program: Command, io: Io): void {
  withOutput(program.command('fsck'))
    .description('Check that everything in a data folder is whole; a registry may be serving it.')
    .option('--data <folder>', 'Data folder, or a backup; KRMHUB_DATA, else ./data.')
    .addHelpText(
      'after',
      `
Nothing is changed. Releases, READMEs, snapshots, the event log, search and the
database itself are checked against each other, and every problem is told.

Exit codes: 0 whole, 1 damaged, 5 cannot be read.

Examples:
  krmhub fsck
  krmhub fsck --data /var/lib/krmhub
  krmhub fsck -o json`,
    )
    .action(async (options: { data?: string; output: OutputFormat }) => {
      const { checkRegistry, loadConfig } = await import('@krmhub/registry/operate');
      const { data } = options;
      const config = await loadConfig(io.env, data === undefined ? {} : { data }, io.cwd);
      const dataFolder = path.resolve(io.cwd, config.dataFolder);
      const progress = new Progress(io);
      const result = await checkRegistry(dataFolder, {
        began: io.now(),
        progress: (line) => progress.show(line),
      }).finally(() => progress.clear());
      await printData(io, options.output, result, () =>
        result.findings.length === 0 ? Promise.resolve() : printFindings(io, result.findings),
      );
      const { functions, releases, snapshots, events } = result.counts;
      const what = [
        plural(functions, 'function'),
        plural(releases, 'release'),
        plural(snapshots, 'snapshot'),
        plural(events, 'event'),
      ].join(', ');
      const damaged = result.findings.filter(({ severity }) => severity === 'damage');
      const verdict = result.healthy
        ? paint(io, io.stderr, 'green', 'whole')
        : paint(io, io.stderr, ['bold', 'red'], `${plural(damaged.length, 'problem')}`);
      await say(io, `${visible(dataFolder)}: ${what}: ${verdict}.`);
      for (const hint of new Set(damaged.flatMap((one) => one.hint ?? []))) await say(io, `  hint: ${hint}`);
      io.exitCode = result.healthy ? DONE : FINDINGS;
    });
}

interface Finding {
  check: string;
  severity: string;
  subject: string;
  message: string;
}

async function printFindings(io: Io, findings: readonly Finding[]): Promise<void> {
  const cells = ({ severity, check, subject, message }: Finding) => [severity, check, subject, message];
  await printTable(
    io,
    [{ header: 'SEVERITY' }, { header: 'CHECK' }, { header: 'WHAT', min: 20 }, { header: 'FOUND', min: 30 }],
    findings,
    { terminal: cells, pipe: cells },
  );
}
