import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import type { RestoreOptions } from '../operate/restore-registry.js';
import { withDataFolder, withOutput } from './options.js';

export function registerRestore(program: Command, io: Io): void {
  withOutput(withDataFolder(program.command('restore')))
    .summary('Restore a backup.')
    .description('Create a data folder from a backup, after verifying the backup.')
    .argument('<backup>', 'Folder that `krmhub backup` wrote.')
    .option('--takedowns <file>', 'File of takedowns to repeat: takedowns.jsonl or a revocation feed.')
    .addHelpText(
      'after',
      `
The command replaces nothing: it refuses a folder that already has a registry. A
backup contains releases that were taken down after it was made. Use --takedowns
with takedowns.jsonl of the replaced folder, or with a saved revocation feed, to
take them down again.

Examples:
  krmhub restore backups/sunday --data restored
  krmhub restore backups/sunday --data restored --takedowns data/takedowns.jsonl
  krmhub restore backups/sunday --data restored && krmhub fsck --data restored`,
    )
    .action(async (backup: string, options: RestoreOptions) => {
      const { restoreFromBackup } = await import('../operate/restore-registry.js');
      await restoreFromBackup(io, backup, options);
    });
}
