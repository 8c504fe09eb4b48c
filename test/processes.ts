import childProcess, {
  type ChildProcess,
  type SpawnOptions,
  type SpawnSyncOptions,
} from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';

/**
 * Starts the programs of tests, in place of `node:child_process`: no program outlives the test file that started it,
 * and a wait that blocks the thread, which vitest cannot interrupt, has an end.
 */

/** Milliseconds after which a program hangs, on a busy machine too. */
const LONGEST = 300_000;

/** How to kill each program that runs. */
const running = new Map<ChildProcess, () => void>();
process.on('exit', endPrograms);

/** Kills the programs that still run; with one that is detached, its process group. */
export function endPrograms(): void {
  for (const kill of running.values()) kill();
  running.clear();
}

/** Sets how to kill a program that would leave its own programs behind. */
export function killAtEnd(child: ChildProcess, kill: () => void): void {
  running.set(child, kill);
}

export const spawn = ((program: string, args: string[], options: SpawnOptions) => {
  const child = childProcess.spawn(program, args, options);
  running.set(child, () => (options.detached === true ? killGroup(child.pid) : child.kill('SIGKILL')));
  child.once('close', () => running.delete(child));
  return child;
}) as typeof childProcess.spawn;

export interface Finished {
  /** `null` if a signal ended it. */
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Returns all that a program prints once it has ended. */
export async function finished(
  child: childProcess.ChildProcessByStdio<Writable | null, Readable, Readable>,
): Promise<Finished> {
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text;
  });
  const [code] = await once(child, 'close');
  return { code, stdout, stderr };
}

/**
 * Throws if the program, or one that it started and that holds its output, does not end. With a timeout of its own, the
 * result has the error, as that of Node.js. In both cases, all of these programs are killed.
 */
export const spawnSync = ((
  program: string,
  ...given: [string[], SpawnSyncOptions?] | [SpawnSyncOptions?]
) => {
  const [args, options = {}] = Array.isArray(given[0]) ? [given[0], given[1]] : [[], given[0]];
  // They are a process group, so that they can be killed.
  const group = { detached: true, killSignal: 'SIGKILL', timeout: LONGEST, ...options } as const;
  const result = childProcess.spawnSync(program, args, group);
  if ((result.error as NodeJS.ErrnoException | undefined)?.code !== 'ETIMEDOUT') return result;
  killGroup(result.pid);
  if (options.timeout !== undefined) return result;
  const printed = `${result.stdout}${result.stderr}`;
  throw new Error(
    `${[program, ...args].join(' ')} did not end within ${LONGEST / 1_000} seconds\n${printed}`,
  );
}) as typeof childProcess.spawnSync;

/** Returns what the program prints. Throws unless its exit code is 0. */
export function outputOf(program: string, args: readonly string[], options: SpawnSyncOptions = {}): string {
  const { status, error, stdout, stderr } = spawnSync(program, args, { ...options, encoding: 'utf8' });
  if (status === 0) return stdout;
  throw new Error(`${[program, ...args].join(' ')} failed: ${error?.message ?? status}\n${stdout}${stderr}`);
}

function killGroup(leader: number | undefined): void {
  try {
    if (leader !== undefined) process.kill(-leader, 'SIGKILL');
  } catch {
    // All of it has ended.
  }
}
