import path from 'node:path';
import { KrmhubError } from '@krmhub/schema/error';
import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, say } from '../io/print.js';
import { Progress } from '../io/progress.js';
import { plural, visible } from '../io/text.js';
import { withOutput } from './options.js';

interface BackupOptions {
  data?: string;
  out: string;
  output: OutputFormat;
}

export function registerBackup(program: Command, io: Io): void {
  withOutput(program.command('backup'))
    .description('Copy a registry, which may be serving, and prove that the copy is whole.')
    .option('--data <folder>', 'Data folder of the registry; KRMHUB_DATA, else ./data.')
    .requiredOption('--out <folder>', 'Folder to make; it must not be there yet. Required.')
    .addHelpText(
      'after',
      `
The copy holds every release that was acknowledged before the backup began. It
has the folder's name once it was proved, and not before. It holds the admin
token too, where that is still in the data folder: keep it as safe.

Examples:
  krmhub backup --out backups/monday
  krmhub backup --data /var/lib/krmhub --out "backup-$(date +%F)"`,
    )
    .action(async (options: BackupOptions) => {
      const { backupRegistry, loadConfig } = await import('@krmhub/registry/operate');
      const { data } = options;
      const { dataFolder } = await loadConfig(io.env, data === undefined ? {} : { data }, io.cwd);
      const out = path.resolve(io.cwd, options.out);
      const progress = new Progress(io);
      let stopped = false;
      void io.untilStopped().then(() => {
        stopped = true;
      });
      const manifest = await backupRegistry({
        dataFolder: path.resolve(io.cwd, dataFolder),
        out,
        now: io.now(),
        progress: async (line) => {
          if (stopped) {
            throw new KrmhubError('unavailable', 'the backup was broken off', {
              hint: 'Nothing is left of it.',
            });
          }
          await progress.show(line);
        },
      }).finally(() => progress.clear());
      await printData(io, options.output, { folder: out, ...manifest }, async () => undefined);
      const { functions, releases } = manifest.counts;
      await say(
        io,
        `Backed up ${plural(functions, 'function')} and ${plural(releases, 'release')} to ${visible(out)}: whole.`,
      );
    });
}
