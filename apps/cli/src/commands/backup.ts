import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import type { BackupOptions } from '../operate/back-up-registry.js';
import { withDatabase, withOutput } from './options.js';

export function registerBackup(program: Command, io: Io): void {
  withOutput(withDatabase(program.command('backup')))
    .summary('Back up a registry.')
    .description('Back up a registry and verify the copy. The registry can keep serving.')
    .requiredOption('--out <folder>', 'Folder to create for the backup. Required.')
    .addHelpText(
      'after',
      `
The backup contains every release that was published before it started. The
folder appears only after the copy is verified. The backup contains the admin
token if it is still in the data folder: protect the backup like the registry.
A backup of a registry in PostgreSQL has the same format as any other.

Examples:
  krmhub backup --out backups/monday
  krmhub backup --data /var/lib/krmhub --out "backup-$(date +%F)"`,
    )
    .action(async (options: BackupOptions) => {
      const { backUpRegistry } = await import('../operate/back-up-registry.js');
      await backUpRegistry(io, options);
    });
}
