import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { type Finished, finished, spawn } from './processes.js';

/** Starts what users start, as they start it: the built command line in separate processes. */
export const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
export const fixtures = path.join(root, 'test/fixtures');
/** Documents of other projects; optionally beside the checkout, never part of it. */
export const sharedData = path.join(path.dirname(root), 'shared/data');
export const command = path.join(root, 'apps/cli/bin/krmhub.js');

export type { Finished };

export interface RunOptions {
  cwd?: string;
  env?: Record<string, string>;
  stdin?: string;
  /** The system ends a command that uses more. */
  maxProcessorSeconds?: number;
  /** Files that the command may have open. */
  maxOpenFiles?: number;
}

/**
 * The tests' environment without settings that could leak into a command: another registry, token or login.
 */
export function cleanEnvironment(home: string, extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('KRMHUB_') && !name.startsWith('XDG_'),
  );
  return { ...Object.fromEntries(kept), HOME: home, NO_COLOR: '1', ...extra };
}

export async function krmhub(args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  const limits = [
    ...(options.maxProcessorSeconds === undefined ? [] : [`ulimit -t ${options.maxProcessorSeconds}`]),
    ...(options.maxOpenFiles === undefined ? [] : [`ulimit -n ${options.maxOpenFiles}`]),
  ];
  const sh = limits.length === 0 ? [] : ['sh', '-c', [...limits, 'exec "$@"'].join('; '), 'sh'];
  const [program, ...rest] = [...sh, process.execPath, command, ...args];
  const child = spawn(program!, rest, {
    cwd: options.cwd ?? root,
    env: cleanEnvironment(options.cwd ?? tmpdir(), options.env),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const ended = finished(child);
  child.stdin.on('error', () => undefined).end(options.stdin ?? '');
  return await ended;
}

export interface RunningRegistry {
  url: string;
  pid: number;
  data: string;
  /** The first admin token. */
  token: string;
  /** The environment in which commands talk to this registry as its administrator. */
  env: Record<string, string>;
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/** Of the registries of this project; undefined for one process with SQLite and a folder. */
const processes = process.env.KRMHUB_TEST_PROCESSES;

/**
 * `krmhub serve` on a free port of the loopback interface, with settings by their names in the environment. In the project
 * `replicas`, several processes with PostgreSQL and S3, behind a load balancer. Appends the output of one process to a
 * file if there is one.
 */
export async function startRegistry(
  data: string,
  settings: Record<string, string> = {},
  log?: string,
): Promise<RunningRegistry> {
  if (processes === undefined) return startProcess(data, settings, log);
  const { startBehindBalancer } = await import('./replicas/behind-balancer.js');
  return startBehindBalancer(data, settings, Number(processes));
}

/** Settings by which `startRegistry` and commands with `--data` find the database and the blobs of a data folder. */
export async function settingsOf(data: string): Promise<Record<string, string>> {
  if (processes === undefined) return {};
  const { replicaSettings } = await import('./replicas/behind-balancer.js');
  return replicaSettings(data);
}

/** `krmhub serve` in one process. */
export async function startProcess(
  data: string,
  settings: Record<string, string> = {},
  log?: string,
): Promise<RunningRegistry> {
  const child = spawn(
    process.execPath,
    [command, 'serve', '--host', '127.0.0.1', '--port', '0', '--data', data],
    {
      cwd: root,
      env: cleanEnvironment(tmpdir(), settings),
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  if (log !== undefined) {
    const file = createWriteStream(log, { flags: 'a' });
    for (const output of [child.stdout, child.stderr]) output.pipe(file, { end: false });
    child.once('close', () => file.end());
  }
  const exited = once(child, 'close') as Promise<[number | null]>;
  const url = await listeningUrl(child, exited);
  const token = readFileSync(path.join(data, 'admin.token'), 'utf8').trim();
  return {
    url,
    pid: child.pid!,
    data,
    token,
    env: { KRMHUB_REGISTRY: url, KRMHUB_TOKEN: token },
    stop: async (signal = 'SIGTERM') => {
      child.kill(signal);
      const [code] = await exited;
      return code;
    },
  };
}

/** Returns the URL that a starting registry prints. Rejects with its output if it ends before. */
export async function listeningUrl(
  child: ChildProcessByStdio<null, Readable, Readable>,
  closed: Promise<unknown[]>,
): Promise<string> {
  let output = '';
  return new Promise((resolve, reject) => {
    const read = (text: string) => {
      output += text;
      // Hints of errors have URLs too.
      const address = /(?:serves |"url":")(http:\/\/(?:127\.0\.0\.1|localhost):\d+)/.exec(output);
      if (address) resolve(address[1]!);
    };
    child.stdout.setEncoding('utf8').on('data', read);
    child.stderr.setEncoding('utf8').on('data', read);
    void closed.then(([code]) =>
      reject(new Error(`the registry ended with ${code} before it listened:\n${output}`)),
    );
  });
}

export function temporaryFolder(): { folder: string; remove(): void } {
  const folder = mkdtempSync(path.join(tmpdir(), 'krmhub-test-'));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
