import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import type { ServeOptions } from '../operate/serve-registry.js';

export function registerServe(program: Command, io: Io): void {
  program
    .command('serve')
    .summary('Run a registry.')
    .description('Run a registry. It logs to stdout: lines of text on a terminal, otherwise JSON.')
    .option('--host <address>', 'Address to listen on. Default: KRMHUB_HOST, else 127.0.0.1.')
    .option('--port <port>', 'Port to listen on, 0 for any free port. Default: KRMHUB_PORT, else 8080.')
    .option('--data <folder>', 'Data folder of the registry. Default: KRMHUB_DATA, else ./data.')
    .option(
      '--keys <folder>',
      'Folder of the signing keys. Default: KRMHUB_KEYS, else keys in the data folder.',
    )
    .option(
      '--database-url <url>',
      'PostgreSQL database. Default: KRMHUB_DATABASE_URL, else SQLite in the data folder.',
    )
    .option(
      '--blob-url <url>',
      'S3-compatible store for the blobs. Default: KRMHUB_BLOB_URL, else the data folder.',
    )
    .option('--config <file>', 'YAML file with settings. Default: KRMHUB_CONFIG.')
    .addHelpText(
      'after',
      `
Options override environment variables, and both override the settings file. The
first start writes an admin token to admin.token in the data folder.

Examples:
  krmhub serve
  krmhub serve --port 9000 --data /var/lib/krmhub
  krmhub serve --config registry.yaml
  krmhub serve --blob-url "s3://bucket/krmhub?region=eu-central-1"
  krmhub serve --database-url postgres://krmhub@db.example.com/krmhub
  krmhub serve --host 0.0.0.0          accept connections from every network`,
    )
    .action(async (options: ServeOptions) => {
      const { startServing } = await import('../operate/start-serving.js');
      await startServing(io, options);
    });
}
