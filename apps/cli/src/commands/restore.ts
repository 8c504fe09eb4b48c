import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { diskError } from '../files/source-files.js';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, say, warn } from '../io/print.js';
import { Progress } from '../io/progress.js';
import { plural, visible } from '../io/text.js';
import { withOutput } from './options.js';

interface RestoreOptions {
  data?: string;
  takedowns?: string;
  output: OutputFormat;
}

export function registerRestore(program: Command, io: Io): void {
  withOutput(program.command('restore'))
    .description('Make a data folder from a backup, once the backup is proved to be whole.')
    .argument('<backup>', 'Folder that `krmhub backup` made.')
    .option('--data <folder>', 'Folder without a registry; KRMHUB_DATA, else ./data.')
    .option('--takedowns <file>', 'takedowns.jsonl of the replaced folder, or a saved revocation feed.')
    .addHelpText(
      'after',
      `
Nothing is ever replaced: a folder that holds a registry is refused. A backup
brings back what was taken down after it: --takedowns takes it down again.

Examples:
  krmhub restore backups/sunday --data restored
  krmhub restore backups/sunday --data restored --takedowns data/takedowns.jsonl
  krmhub restore backups/sunday --data restored && krmhub fsck --data restored`,
    )
    .action(async (backup: string, options: RestoreOptions) => {
      const { loadConfig, parseTakedowns, restoreRegistry } = await import('@krmhub/registry/operate');
      const { data, takedowns: file } = options;
      const config = await loadConfig(io.env, data === undefined ? {} : { data }, io.cwd);
      const dataFolder = path.resolve(io.cwd, config.dataFolder);
      const takedowns = file === undefined ? [] : parseTakedowns(await readRecord(io, file), file);
      const progress = new Progress(io);
      const manifest = await restoreRegistry({
        backup: path.resolve(io.cwd, backup),
        dataFolder,
        takedowns,
        now: io.now(),
        progress: (line) => progress.show(line),
      }).finally(() => progress.clear());
      await printData(io, options.output, { folder: dataFolder, ...manifest }, async () => undefined);
      const { functions, releases } = manifest.counts;
      await say(
        io,
        `Restored ${plural(functions, 'function')} and ${plural(releases, 'release')} of ${manifest.madeAt} to ${visible(dataFolder)}.`,
      );
      await warn(io, manifest.notice);
      await say(
        io,
        'Catalogs and their digests are as they were; their files are made again when asked for.',
      );
    });
}

async function readRecord(io: Io, file: string): Promise<Uint8Array> {
  try {
    return await readFile(path.resolve(io.cwd, file));
  } catch (error) {
    throw diskError(error, `${file} cannot be read`);
  }
}
