import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { killAtEnd, spawn } from '../processes.js';
import { cleanEnvironment, root } from '../running.js';

/** Runs the server as operators do: the built program, in a separate process. */
const program = path.join(root, 'apps/registry/dist/main.js');

export interface ServerUnderFault {
  url: string;
  pid: number;
  /** Its data folder. */
  data: string;
  /** The first admin token. */
  token: string;
  /** Signal or exit code with which it ended; undefined while it runs. */
  ended(): string | undefined;
  /** Resolves when it has ended, by itself or by this signal. */
  stop(signal?: NodeJS.Signals): Promise<string>;
}

/**
 * Starts a server on a free port of the loopback interface; undefined if it ended before it listened. One
 * thread does all work on files, so that the n-th system call of a thread is the same in every run.
 */
export async function startServer(
  data: string,
  wrap: readonly string[] = [],
): Promise<ServerUnderFault | undefined> {
  const [command, ...args] = [...wrap, process.execPath, program];
  const child = spawn(command!, args, {
    cwd: root,
    env: cleanEnvironment(data, {
      KRMHUB_HOST: '127.0.0.1',
      KRMHUB_PORT: '0',
      KRMHUB_DATA: data,
      UV_THREADPOOL_SIZE: '1',
    }),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let ended: string | undefined;
  const kill = (signal: NodeJS.Signals) => {
    if (ended !== undefined) return;
    if (wrap.length === 0) child.kill(signal);
    else process.kill(findChild(child.pid!), signal);
  };
  killAtEnd(child, () => kill('SIGKILL'));
  const exited = once(child, 'close').then(([code, signal]) => {
    ended = String(signal ?? code);
    return ended;
  });
  const url = await listening(child, exited);
  if (url === undefined) return undefined;
  return {
    url,
    pid: wrap.length === 0 ? child.pid! : findChild(child.pid!),
    data,
    token: readFileSync(path.join(data, 'admin.token'), 'utf8').trim(),
    ended: () => ended,
    stop: async (signal = 'SIGKILL') => {
      kill(signal);
      return exited;
    },
  };
}

async function listening(child: ChildProcess, exited: Promise<string>): Promise<string | undefined> {
  let output = '';
  const found = new Promise<string>((resolve) => {
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      if (output.length > 100_000) return;
      output += text;
      const [, url] = /"url":"(http:[^"]+)"/.exec(output) ?? [];
      if (url !== undefined) resolve(url);
    });
  });
  return Promise.race([found, exited.then(() => undefined)]);
}

function findChild(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0]);
}

/** The threads of a process in the order of their start, which is the same in every run. */
export function listThreads(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`)
    .map(Number)
    .sort((a, b) => a - b);
}
