import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import type { RestoreOptions } from '../operate/restore-registry.js';
import { withDatabase, withOutput } from './options.js';

export function registerRestore(program: Command, io: Io): void {
  withOutput(withDatabase(program.command('restore')))
    .summary('Restore a backup.')
    .description('Verify a backup, and create a data folder from it.')
    .argument('<backup>', 'Folder from `krmhub backup`.')
    .option(
      '--blob-url <url>',
      'S3-compatible store for the blobs. Default: KRMHUB_BLOB_URL, else the data folder.',
    )
    .option('--takedowns <file>', 'File with takedowns to repeat: takedowns.jsonl or a revocation feed.')
    .addHelpText(
      'after',
      `
The command does not replace files: it rejects a folder that already has a
registry. A backup contains releases that were taken down after the backup. To
take them down again, use --takedowns with takedowns.jsonl from the replaced
folder, or with a saved revocation feed.

Examples:
  krmhub restore backups/sunday --data restored
  krmhub restore backups/sunday --data restored --takedowns data/takedowns.jsonl
  krmhub restore backups/sunday --data restored && krmhub fsck --data restored
  krmhub restore backups/sunday --database-url postgres://krmhub@db.example.com/new`,
    )
    .action(async (backup: string, options: RestoreOptions) => {
      const { restoreFromBackup } = await import('../operate/restore-registry.js');
      await restoreFromBackup(io, backup, options);
    });
}
