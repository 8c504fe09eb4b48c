import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import type { MigrateOptions } from '../operate/migrate-registry.js';
import { withDatabase, withOutput } from './options.js';

export function registerMigrate(program: Command, io: Io): void {
  withOutput(withDatabase(program.command('migrate')))
    .summary('Migrate the database to this version.')
    .description('Migrate the database of a registry to this version, as the next start does.')
    .addHelpText(
      'after',
      `
Use it to see before the start of a new version whether its migrations succeed,
and how long they take. Stop a registry with SQLite first. Processes that use
PostgreSQL can keep serving, unless the command says that they must be stopped.
Older versions do not start on the database then.

Examples:
  krmhub migrate
  krmhub migrate --database-url postgres://krmhub@db.example.com/krmhub`,
    )
    .action(async (options: MigrateOptions) => {
      const { migrateRegistry } = await import('../operate/migrate-registry.js');
      await migrateRegistry(io, options);
    });
}
