import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import type { OutputFormat } from '../io/print.js';
import { withDatabase, withOutput } from './options.js';

export function registerFsck(program: Command, io: Io): void {
  withOutput(withDatabase(program.command('fsck')))
    .summary('Check a data folder for damage.')
    .description('Check a data folder or a backup for damage. The registry can keep serving.')
    .addHelpText(
      'after',
      `
The command is read-only. It compares releases, READMEs, snapshots, the event
log, the search index, and the database, and lists every problem. A database in
PostgreSQL is first copied to a temporary file in TMPDIR.

Exit codes: 0 no damage, 1 damage found, 5 cannot read the folder.

Examples:
  krmhub fsck
  krmhub fsck --data /var/lib/krmhub
  krmhub fsck --database-url postgres://krmhub@db.example.com/krmhub
  krmhub fsck -o json`,
    )
    .action(async (options: { data?: string; databaseUrl?: string; output: OutputFormat }) => {
      const { checkDataFolder } = await import('../operate/check-data-folder.js');
      await checkDataFolder(io, options);
    });
}
