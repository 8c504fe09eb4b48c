import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import type { MoveOptions } from '../operate/move-registry.js';
import { withDatabase, withOutput } from './options.js';

export function registerMove(program: Command, io: Io): void {
  withOutput(withDatabase(program.command('move')))
    .summary('Move a registry to another database or store.')
    .description(
      'Copy a registry between SQLite and PostgreSQL, and between a folder and S3, and verify the copy. The registry can keep serving reads.',
    )
    .option('--to-data <folder>', 'Data folder of the copy.')
    .option('--to-database-url <url>', 'Empty PostgreSQL database. Default: SQLite in the new data folder.')
    .option('--to-blob-url <url>', 'S3-compatible store for the blobs. Default: the new data folder.')
    .option('--undo', 'Let a registry that was moved be served where it was.')
    .addHelpText(
      'after',
      `
While the command copies the rows of the database, the registry rejects changes
with 503. After the move, it still serves reads, but does not start again. If
the command is interrupted, run it again. It then continues.

Settings of the environment apply to the registry that is moved. The command
finds its blobs by itself.

Examples:
  krmhub move --to-data new --to-database-url postgres://krmhub@db.example.com/krmhub
  krmhub move --database-url postgres://krmhub@db.example.com/krmhub --to-data back
  krmhub move --undo`,
    )
    .action(async (options: MoveOptions) => {
      const { moveOrUndo } = await import('../operate/move-registry.js');
      await moveOrUndo(io, options);
    });
}
