/**
 * Runs a program within limits, and ends its process group with krmhub.
 *
 * @module
 */

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import type { Writable } from 'node:stream';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { FUNCTION_LIMITS, type RunLimits } from '../limits.js';
import { BoundedBuffer } from './bounded-buffer.js';
import { MemoryWatch } from './memory-watch.js';
import { startGroupWatch, WATCH_SHELL, watchGroup } from './parent-watch.js';
import { HAS_PROCESS_GROUPS, signalGroup } from './process-group.js';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface ProgramRun {
  /** Path of the program. */
  program: string;
  args: readonly string[];
  /** All of the environment. That of this process is never inherited: it has the secrets of krmhub. */
  env: Environment;
  cwd?: string;
  /**
   * Commands of a POSIX shell that run first, in the process that becomes the program. Skipped where there is no shell.
   * A program that cannot be started then exits with 126 or 127, as in a shell.
   */
  setup?: string;
  input?: Uint8Array;
  /** What the program can read from the file descriptor `EXTRA_INPUT`. */
  extraInput?: Uint8Array | undefined;
  limits: RunLimits;
  signal?: AbortSignal | undefined;
  /** Gets all output and error output as it comes, also what is beyond the limits. */
  onOutput?: ((piece: Buffer) => void) | undefined;
}

/**
 * How a program ended. `runProgram` ended those with the last types; `left-open` means that a process outside of its
 * group still had its output open, so that the output may be incomplete.
 */
export type ProgramEnd =
  | { type: 'exited'; exitCode: number }
  | { type: 'killed'; signal: string }
  | { type: 'timeout' | 'too-large' | 'aborted' | 'left-open' };

export interface ProgramResult {
  end: ProgramEnd;
  output: Uint8Array;
  stderr: Uint8Array;
  stderrTruncated: boolean;
  /** The most memory that the program, or a child of it, was seen with. */
  peakBytes?: number;
}

/** Waits until krmhub watches it, and ends if krmhub does before. `read` takes no more than the line. */
const START = 'read -r go || exit 1;';
/** What messages of that shell begin with, and nothing that a program prints. */
const SHELL_NAME = `krmhub-${randomUUID()}`;
/** Exit codes of a shell that cannot run a program (POSIX, 2.8.2). */
const SHELL_ERRORS: Readonly<Record<number, string>> = { 126: 'EACCES', 127: 'ENOENT' };

/** The first file descriptor after those of standard input and output. */
export const EXTRA_INPUT = 3;

/** Longer delays make a timer fire at once. */
export const MAX_TIMER_MILLISECONDS = 2 ** 31 - 1;

/**
 * Runs a program in its own process group: input in, output and error output back, within limits. Nothing of the group
 * runs when this resolves: processes that the program left behind are killed too. The group also ends when krmhub is
 * killed. A process that leaves its group with `setsid` is not found.
 *
 * Rejects with `unavailable` if the program cannot be started.
 */
export async function runProgram(run: ProgramRun): Promise<ProgramResult> {
  const { limits, signal, onOutput } = run;
  if (signal?.aborted === true) return emptyResult({ type: 'aborted' });
  startGroupWatch();
  const child = start(run);
  const endWatch = child.pid === undefined ? () => undefined : watchGroup(child.pid);
  const memory =
    limits.measuresMemory === true && child.pid !== undefined ? new MemoryWatch(child.pid, START) : undefined;
  const output = new BoundedBuffer(limits.maxOutputBytes);
  const stderr = new BoundedBuffer(limits.maxStderrBytes);
  let stopped: ProgramEnd | undefined;
  const timers: NodeJS.Timeout[] = [];
  const later = (milliseconds: number, action: () => void) =>
    timers.push(setTimeout(action, Math.min(milliseconds, MAX_TIMER_MILLISECONDS)));
  const stop = (end: ProgramEnd) => {
    if (stopped !== undefined) return;
    stopped = end;
    // What still writes gets SIGPIPE.
    child.stdout.destroy();
    signalGroup(child, 'SIGTERM');
    later(FUNCTION_LIMITS.killMilliseconds, () => {
      signalGroup(child, 'SIGKILL');
      child.stderr.destroy();
    });
  };
  const endLeftovers = () => {
    signalGroup(child, 'SIGKILL');
    later(FUNCTION_LIMITS.leftoverMilliseconds, () => {
      if (!child.stdout.readableEnded) stopped ??= { type: 'left-open' };
      child.stdout.destroy();
      child.stderr.destroy();
    });
  };
  const onAbort = () => stop({ type: 'aborted' });

  child.stdout.on('data', (piece: Buffer) => {
    output.add(piece);
    memory?.look();
    if (output.isTruncated) stop({ type: 'too-large' });
  });
  child.stderr.on('data', (piece: Buffer) => stderr.add(piece));
  for (const stream of [child.stdout, child.stderr]) {
    if (onOutput !== undefined) stream.on('data', onOutput);
    stream.on('error', () => undefined);
  }
  // A function may end before it has read everything.
  child.stdin.on('error', () => undefined);
  if (WATCH_SHELL !== undefined) child.stdin.write('\n');
  child.stdin.end(run.input);
  signal?.addEventListener('abort', onAbort);
  later(limits.timeout, () => stop({ type: 'timeout' }));
  try {
    const end = await waitForEnd(run.program, child, () =>
      later(FUNCTION_LIMITS.leftoverMilliseconds, endLeftovers),
    );
    requireStart(run.program, end, stderr.bytes());
    const peakBytes = memory?.end();
    return {
      end: stopped ?? end,
      output: output.bytes(),
      stderr: stderr.bytes(),
      stderrTruncated: stderr.isTruncated,
      ...defined({ peakBytes }),
    };
  } finally {
    memory?.end();
    signal?.removeEventListener('abort', onAbort);
    for (const timer of timers) clearTimeout(timer);
    // Processes that closed their output, such as daemons.
    signalGroup(child, 'SIGKILL');
    endWatch();
  }
}

function start({ program, args, env, cwd, setup, extraInput }: ProgramRun): ChildProcessWithoutNullStreams {
  const shell = ['-c', `${START} ${setup ?? ''} exec "$@"`, setup === undefined ? SHELL_NAME : 'sh'];
  const [file, ...rest] =
    WATCH_SHELL === undefined ? [program, ...args] : [WATCH_SHELL, ...shell, program, ...args];
  try {
    const child = spawn(file!, rest, {
      env,
      ...defined({ cwd }),
      detached: HAS_PROCESS_GROUPS,
      windowsHide: true,
      stdio: ['pipe', 'pipe', 'pipe', ...(extraInput === undefined ? [] : (['pipe'] as const))],
    }) as ChildProcessWithoutNullStreams;
    if (extraInput !== undefined) writeExtra(child.stdio[EXTRA_INPUT] as Writable, extraInput);
    return child;
  } catch (error) {
    throw cannotStart(program, error);
  }
}

function writeExtra(stream: Writable, bytes: Uint8Array): void {
  // A program may end before it has read it.
  stream.on('error', () => undefined);
  stream.end(bytes);
}

/** Resolves when the program has ended and its output is closed. Calls `onExit` when it has ended. */
function waitForEnd(
  program: string,
  child: ChildProcessWithoutNullStreams,
  onExit: () => void,
): Promise<ProgramEnd> {
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(cannotStart(program, error)));
    child.once('exit', onExit);
    child.once('close', (exitCode, signal) => {
      if (signal !== null) resolve({ type: 'killed', signal });
      else resolve({ type: 'exited', exitCode: exitCode ?? 0 });
    });
  });
}

/** Throws if the shell did not become the program. */
function requireStart(program: string, end: ProgramEnd, stderr: Uint8Array): void {
  if (end.type !== 'exited') return;
  const code = SHELL_ERRORS[end.exitCode];
  if (code === undefined) return;
  const said = Buffer.from(stderr).toString();
  if (said.startsWith(`${SHELL_NAME}: `)) throw cannotStart(program, { code, message: said });
}

export function cannotStart(program: string, cause: unknown): KrmhubError {
  const { code = '', message } = cause as NodeJS.ErrnoException;
  const [reason, hint] = START_PROBLEMS[code] ?? [code || message];
  return new KrmhubError('unavailable', `cannot start ${program}: ${reason}`, {
    cause,
    ...defined({ hint }),
  });
}

/** What the errors of a start mean: the system gives the first one for a missing interpreter too. */
const START_PROBLEMS: Readonly<Record<string, readonly [reason: string, hint: string]>> = {
  ENOENT: [
    'the file, or the interpreter in its first line, does not exist',
    'Correct the path. A relative one starts at the working folder of the program.',
  ],
  EACCES: ['the file is not executable', 'Make it executable: chmod +x FILE'],
  ENOEXEC: [
    'this system cannot run the file',
    'Add a first line such as #!/bin/sh to a script, or build the program for this machine.',
  ],
};

function emptyResult(end: ProgramEnd): ProgramResult {
  return { end, output: new Uint8Array(), stderr: new Uint8Array(), stderrTruncated: false };
}
