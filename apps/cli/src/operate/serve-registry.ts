/**
 * Runs and maintains a registry: serve, fsck, backup, restore, migrate, move, and key.
 *
 * The work is in `apps/registry`. This folder finds the storage, and prints progress and results.
 *
 * @module
 */

import path from 'node:path';
import { DEFAULT_REGISTRY } from '@krmhub/consume/references/registry-url';
import { createLog, LogOutput, loadConfig, startRegistry } from '@krmhub/registry';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { shellWord } from '@krmhub/schema/text';
import { type Io, paint } from '../io/io.js';
import { printLine } from '../io/print.js';
import { VERSION } from '../io/version.js';
import { keepFilesPrivate } from './data-folder.js';
import { terminalLog } from './terminal-log.js';

export interface ServeOptions {
  host?: string;
  port?: string;
  data?: string;
  keys?: string;
  databaseUrl?: string;
  blobUrl?: string;
  config?: string;
}

/** Runs a registry until a signal arrives. */
export async function serveRegistry(io: Io, options: ServeOptions): Promise<void> {
  keepFilesPrivate(io);
  const config = await loadConfig(io.env, options, io.cwd);
  const dataFolder = path.resolve(io.cwd, config.dataFolder);
  // From here on a signal causes a graceful shutdown, even one that arrives during startup.
  const stopped = io.waitForStop();
  // For people on a terminal; JSON lines for programs.
  const output = new LogOutput(io.stdout.isTTY === true ? terminalLog(io) : io.stdout);
  const log = createLog(config.logLevel, output);
  const starting = new AbortController();
  void stopped.then(() => starting.abort());
  const registry = await start({
    signal: starting.signal,
    version: VERSION,
    config: {
      ...config,
      dataFolder,
      ...defined({
        keysFolder: config.keysFolder !== undefined ? path.resolve(io.cwd, config.keysFolder) : undefined,
      }),
    },
    log,
    unwrittenLogLines: () => output.dropped,
  }).catch((error: unknown) => {
    // It waited for a server, and has nothing to close.
    if (starting.signal.aborted && (error as Error).name === 'AbortError') return undefined;
    throw error;
  });
  if (registry === undefined) return;
  const url = isLoopback(config.host) ? `http://localhost:${new URL(registry.url).port}` : registry.url;
  await printWelcome(io, { ...registry, url, dataFolder });
  await stopped;
  await registry.close();
}

/** The configuration is valid here, so what fails is a port or a disk: that is not a usage error. */
async function start(options: Parameters<typeof startRegistry>[0]) {
  try {
    return await startRegistry(options);
  } catch (error) {
    if (!(error instanceof KrmhubError) || error.code !== 'usage') throw error;
    throw new KrmhubError('unavailable', error.message, {
      ...defined({ hint: error.hint }),
      cause: error,
    });
  }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '127.0.0.1' || host === '::1';
}

interface Welcome {
  url: string;
  dataFolder: string;
  adminTokenFile: string;
  adminTokenCreated: boolean;
  adminTokenProblem: string | undefined;
}

/** Prints where the registry is, and commands to paste in another terminal. */
async function printWelcome(io: Io, registry: Welcome): Promise<void> {
  const { url, dataFolder, adminTokenFile, adminTokenCreated, adminTokenProblem } = registry;
  const isTerminal = io.stderr.isTTY === true;
  if (isTerminal) await printLine(io, '');
  await printLine(io, `krmhub serves ${paint(io, io.stderr, 'bold', url)} from ${dataFolder}`);
  if (adminTokenProblem !== undefined) {
    await printLine(io, `no usable admin token: ${adminTokenFile} ${adminTokenProblem}`);
    await printLine(io, '  hint: To create a new token, empty that file and restart the registry.');
  } else {
    await printLine(io, `admin token${adminTokenCreated ? ' (new)' : ''}: ${adminTokenFile}`);
    await printLine(io, 'to publish, run in another terminal:');
    for (const line of nextSteps(io, registry)) await printLine(io, `  ${line}`);
  }
  if (!isTerminal) return;
  await printLine(io, 'press Ctrl-C to stop; for a log in JSON, redirect stdout');
  await printLine(io, '');
}

/** Commands that work as they stand, also where the program is not in PATH. */
function nextSteps(io: Io, { url, adminTokenFile }: Welcome): string[] {
  // npm sets this variable, for `npm start` and for npx.
  const program = io.env.npm_lifecycle_event === undefined ? 'krmhub' : 'npx krmhub';
  return [
    ...(program === 'krmhub' ? [] : [`cd ${shellWord(io.cwd)}`]),
    ...(url === DEFAULT_REGISTRY ? [] : [`export KRMHUB_REGISTRY=${url}`]),
    `export KRMHUB_TOKEN=$(cat ${shellWord(adminTokenFile)})`,
    `${program} init example.com/SetOwner --runtime starlark`,
    // Lint lists the lines to edit. This only removes their marks, so that the next commands work.
    "sed -i.bak 's/# CHANGE:/#/' set-owner/definition.yaml",
    `${program} test set-owner`,
    `${program} publish set-owner/definition.yaml --release 0.1.0 --readme set-owner/README.md`,
  ];
}
