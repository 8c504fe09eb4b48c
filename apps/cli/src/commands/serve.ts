import path from 'node:path';
import { KrmhubError } from '@krmhub/schema/error';
import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import { say } from '../io/print.js';
import { DEFAULT_REGISTRY } from '../registry/connection.js';

interface ServeOptions {
  host?: string;
  port?: string;
  data?: string;
  config?: string;
}

export function registerServe(program: Command, io: Io): void {
  program
    .command('serve')
    .description('Run a registry. Its log goes to stdout as lines of JSON.')
    .option('--host <address>', 'Address to listen on; KRMHUB_HOST, else 127.0.0.1.')
    .option('--port <port>', 'Port to listen on, 0 for any free one; KRMHUB_PORT, else 8080.')
    .option('--data <folder>', 'Folder to keep everything in; KRMHUB_DATA, else ./data.')
    .option('--config <file>', 'File of settings, YAML; KRMHUB_CONFIG. Environment and options win over it.')
    .addHelpText(
      'after',
      `
The first start writes an admin token to admin.token in the data folder.

Examples:
  krmhub serve
  krmhub serve --port 9000 --data /var/lib/krmhub
  krmhub serve --config krmhub.yaml
  krmhub serve --host 0.0.0.0          open to every network`,
    )
    .action(async (options: ServeOptions) => {
      const { createLog, loadConfig } = await import('@krmhub/registry');
      const config = await loadConfig(io.env, options, io.cwd);
      const dataFolder = path.resolve(io.cwd, config.dataFolder);
      // From here on a signal waits for an orderly end, even one that comes during the start.
      const stopped = io.untilStopped();
      const log = createLog(config.logLevel, io.stdout);
      const registry = await start({ config: { ...config, dataFolder }, log });
      const url = isLoopback(config.host) ? `http://localhost:${new URL(registry.url).port}` : registry.url;
      await welcome(io, { ...registry, url, dataFolder });
      await stopped;
      await registry.close();
    });
}

type StartOptions = Parameters<typeof import('@krmhub/registry').startRegistry>[0];

/** The configuration was sound: what fails now is a port or a disk, not how the command was used. */
async function start(options: StartOptions) {
  const { startRegistry } = await import('@krmhub/registry');
  try {
    return await startRegistry(options);
  } catch (error) {
    if (!(error instanceof KrmhubError) || error.code !== 'usage') throw error;
    throw new KrmhubError('unavailable', error.message, {
      ...(error.hint === undefined ? {} : { hint: error.hint }),
      cause: error,
    });
  }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '127.0.0.1' || host === '::1';
}

async function welcome(
  io: Io,
  registry: {
    url: string;
    dataFolder: string;
    adminTokenFile: string;
    adminTokenCreated: boolean;
    adminTokenProblem: string | undefined;
  },
): Promise<void> {
  const { url, dataFolder, adminTokenFile, adminTokenCreated, adminTokenProblem } = registry;
  const elsewhere = url === DEFAULT_REGISTRY ? '' : `export KRMHUB_REGISTRY=${url} `;
  await say(io, `krmhub serves ${url} from ${dataFolder}`);
  if (adminTokenProblem !== undefined) {
    await say(io, `There is no usable admin token: ${adminTokenFile} ${adminTokenProblem}.`);
    await say(io, 'Empty that file and start again to have a new one made.');
    return;
  }
  await say(io, `Admin token${adminTokenCreated ? ', new' : ''}: ${adminTokenFile}`);
  await say(io, 'To publish, in another terminal:');
  await say(
    io,
    `  ${elsewhere === '' ? 'export ' : elsewhere}KRMHUB_TOKEN=$(cat ${shellWord(adminTokenFile)})`,
  );
  await say(io, '  krmhub publish definition.yaml --release 1.0.0');
}

/** POSIX shell, "Quoting". */
function shellWord(text: string): string {
  return /^[\w./:@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
