import path from 'node:path';
import type { Command } from 'commander';
import type { Io } from '../io.js';
import { type OutputFormat, printData, say } from '../output/print.js';
import { Progress } from '../output/progress.js';
import { plural, visible } from '../output/text.js';
import { withOutput } from './options.js';

export function registerRestore(program: Command, io: Io): void {
  withOutput(program.command('restore'))
    .description('Make a data folder from a backup, once the backup is proved to be whole.')
    .argument('<backup>', 'Folder that `krmhub backup` made.')
    .option('--data <folder>', 'Folder without a registry; KRMHUB_DATA, else ./data.')
    .addHelpText(
      'after',
      `
Nothing is ever replaced: a folder that holds a registry is refused.

Examples:
  krmhub restore backups/sunday --data restored
  krmhub restore backups/sunday --data restored && krmhub fsck --data restored`,
    )
    .action(async (backup: string, options: { data?: string; output: OutputFormat }) => {
      const { readConfig, restoreRegistry } = await import('@krmhub/registry/operate');
      const dataFolder = path.resolve(io.cwd, readConfig(io.env, options).dataFolder);
      const progress = new Progress(io);
      const manifest = await restoreRegistry({
        backup: path.resolve(io.cwd, backup),
        dataFolder,
        now: io.now(),
        progress: (line) => progress.show(line),
      }).finally(() => progress.clear());
      await printData(io, options.output, { folder: dataFolder, ...manifest }, async () => undefined);
      const { functions, releases } = manifest.counts;
      await say(
        io,
        `Restored ${plural(functions, 'function')} and ${plural(releases, 'release')} of ${manifest.madeAt} to ${visible(dataFolder)}.`,
      );
      await say(
        io,
        'Catalogs and their digests are as they were; their files are made again when asked for.',
      );
    });
}
