import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { spawn, spawnSync } from '../processes.js';

/** Whether strace is installed and may trace. */
export function canTrace(): boolean {
  return spawnSync('strace', ['-o', '/dev/null', 'true'], { stdio: 'ignore' }).status === 0;
}

export interface Attached {
  /** Detaches from the process; resolves afterwards. */
  detach(): Promise<void>;
}

/**
 * Sometimes strace waits forever after it killed a process that has children, and the process stays a zombie until strace
 * ends too.
 */
const MAX_ZOMBIE_SECONDS = 5;

/**
 * Attaches strace to one thread, or to all of the process if `args` contain `-f`; resolves once it traces.
 */
export async function attach(thread: number, output: string, args: readonly string[]): Promise<Attached> {
  const child = spawn('strace', ['-p', String(thread), '-o', output, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  const exited = once(child, 'close');
  let zombieSeconds = 0;
  const watch = setInterval(() => {
    zombieSeconds = isZombie(thread) ? zombieSeconds + 1 : 0;
    if (zombieSeconds > MAX_ZOMBIE_SECONDS) child.kill('SIGKILL');
  }, 1_000);
  const stopWatching = () => clearInterval(watch);
  exited.then(stopWatching, stopWatching);
  const attached = new Promise<void>((resolve) => {
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      if (said.includes('attached')) resolve();
    });
  });
  await Promise.race([
    attached,
    exited.then(() => {
      throw new Error(`strace could not attach: ${said}`);
    }),
  ]);
  return {
    detach: async () => {
      child.kill('SIGINT');
      await exited;
    },
  };
}

function isZombie(thread: number): boolean {
  try {
    return /^State:\tZ/m.test(readFileSync(`/proc/${thread}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** Counts the calls in a trace that strace tampered with. */
export function injected(output: string): number {
  return readTrace(output).match(/\(INJECTED\)/g)?.length ?? 0;
}

export interface Call {
  thread: string;
  name: string;
  /** Arguments as strace prints them. */
  args: string;
  /** The trace lines of its begin and end: compare them to order two calls. */
  began: number;
  ended: number;
  failed: boolean;
}

/** The calls of a trace of several threads (`-f`), in the order of their end. */
export function calls(output: string): Call[] {
  const open = new Map<string, { name: string; args: string; began: number }>();
  const found: Call[] = [];
  for (const [at, line] of readTrace(output).split('\n').entries()) {
    const [, thread, rest] = /^(\d+) +(.*)$/.exec(line) ?? [];
    if (thread === undefined || rest === undefined) continue;
    const resumed = /^<\.\.\. (\w+) resumed>(.*)$/.exec(rest);
    const began = /^(\w+)\((.*)$/.exec(rest);
    if (resumed !== null) {
      const start = open.get(thread);
      if (start === undefined) continue;
      found.push({ thread, ...start, args: start.args + resumed[2], ended: at, failed: / = -1 /.test(rest) });
      open.delete(thread);
    } else if (began !== null) {
      const [, name = '', args = ''] = began;
      if (args.endsWith('<unfinished ...>')) open.set(thread, { name, args: args.slice(0, -16), began: at });
      else found.push({ thread, name, args, began: at, ended: at, failed: / = -1 /.test(rest) });
    }
  }
  return found;
}

function readTrace(output: string): string {
  try {
    return readFileSync(output, 'latin1');
  } catch {
    return '';
  }
}
