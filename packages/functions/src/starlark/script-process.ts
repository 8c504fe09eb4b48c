import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { defined } from '@krmhub/schema/defined';
import type { RunLimits } from '../limits.js';
import { BoundedBuffer } from '../process/bounded-buffer.js';
import { builtEntry } from '../process/built-entry.js';
import { WATCH_SHELL } from '../process/parent-watch.js';
import { HAS_PROCESS_GROUPS, signalGroup } from '../process/process-group.js';
import {
  cannotStart,
  MAX_TIMER_MILLISECONDS,
  type ProgramEnd,
  type ProgramResult,
} from '../process/run-program.js';
import { limited } from '../process/shell-limits.js';
import { FRAME, FrameReader } from './script-frames.js';
import { type ScriptTask, writeTask } from './script-task.js';

/** What decides whether a process can run a script. */
export interface ScriptLimits {
  megabytes: number;
  timeout: number;
}

/** How a script ended. */
export interface ScriptEnd extends ProgramResult {
  /** Whether the process ended, and did not say that the script has. */
  isEarly: boolean;
}

interface CurrentRun {
  output: BoundedBuffer;
  /** What the script printed. */
  printed: BoundedBuffer;
  /** What the process itself wrote: the report of V8 on its end. */
  report: BoundedBuffer;
  memory: BoundedBuffer;
  exit(code: number): void;
}

/** The processor time that the system allows a process, as a multiple of that of one run. */
const PROCESSOR_TIMES = 2;

/** Of a number of bytes. */
const MAX_DIGITS = 20;

/** A process that runs scripts, one at a time. */
export class ScriptProcess {
  readonly limits: ScriptLimits;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #closed: Promise<ProgramEnd>;
  #current: CurrentRun | undefined;
  #milliseconds = 0;
  #isUsable = true;

  constructor({ megabytes, timeout }: ScriptLimits, limits: RunLimits) {
    this.limits = { megabytes, timeout };
    const child = start(megabytes, { ...limits, timeout: timeout * PROCESSOR_TIMES });
    this.#child = child;
    this.#closed = new Promise((resolve, reject) => {
      child.once('error', (error) => reject(cannotStart(child.spawnfile, error)));
      child.once('close', (exitCode, signal) => {
        this.#isUsable = false;
        resolve(signal === null ? { type: 'exited', exitCode: exitCode ?? 0 } : { type: 'killed', signal });
      });
    });
    this.#closed.catch(() => undefined);
    const frames = new FrameReader((type, part) => {
      if (type === FRAME.stderr) this.#current?.printed.add(part);
      else if (type === FRAME.output) this.#current?.output.add(part);
      else if (type === FRAME.memory) this.#current?.memory.add(part);
      else this.#current?.exit(part[0]!);
    });
    child.stdout.on('data', (piece: Buffer) => frames.add(piece));
    child.stderr.on('data', (piece: Buffer) => this.#current?.report.add(piece));
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on('error', () => undefined);
  }

  /** Whether it can run another script for its whole time. */
  get isUsable(): boolean {
    return this.#isUsable && this.#milliseconds < this.limits.timeout;
  }

  /** Runs a script. What did not end by itself is ended with the process. */
  async run(task: ScriptTask, limits: RunLimits, signal?: AbortSignal): Promise<ScriptEnd> {
    const output = new BoundedBuffer(limits.maxOutputBytes);
    const printed = new BoundedBuffer(limits.maxStderrBytes);
    const report = new BoundedBuffer(limits.maxStderrBytes);
    const memory = new BoundedBuffer(MAX_DIGITS);
    const start = performance.now();
    let stopped: ProgramEnd | undefined;
    const stop = (end: ProgramEnd) => {
      stopped ??= end;
      this.kill();
    };
    const onAbort = () => stop({ type: 'aborted' });
    const timer = setTimeout(
      () => stop({ type: 'timeout' }),
      Math.min(limits.timeout, MAX_TIMER_MILLISECONDS),
    );
    signal?.addEventListener('abort', onAbort);
    try {
      const exited = new Promise<Pick<ScriptEnd, 'end' | 'isEarly'>>((resolve) => {
        const exit = (exitCode: number) => resolve({ end: { type: 'exited', exitCode }, isEarly: false });
        this.#current = { output, printed, report, memory, exit };
      });
      this.#hold(true);
      this.#child.stdin.write(writeTask(task));
      const ended = await Promise.race([exited, this.#closed.then((end) => ({ end, isEarly: true }))]);
      if (output.isTruncated) stop({ type: 'too-large' });
      return {
        ...ended,
        ...defined({ end: stopped }),
        output: output.bytes(),
        stderr: Buffer.concat([printed.bytes(), report.bytes()]),
        stderrTruncated: printed.isTruncated || report.isTruncated,
        ...defined({
          peakBytes: memory.bytes().byteLength === 0 ? undefined : Number(memory.bytes().toString()),
        }),
      };
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      this.#current = undefined;
      this.#hold(false);
      this.#milliseconds += performance.now() - start;
    }
  }

  /** While it waits for a script, it does not keep this process running; without this process, it ends. */
  #hold(isRunning: boolean): void {
    const { stdin, stdout, stderr } = this.#child;
    for (const part of [this.#child, stdin, stdout, stderr] as unknown as Socket[]) {
      if (isRunning) part.ref();
      else part.unref();
    }
  }

  kill(): void {
    this.#isUsable = false;
    signalGroup(this.#child, 'SIGKILL');
  }
}

/** Starts a process that ends by itself when this one has ended. */
function start(megabytes: number, limits: RunLimits): ChildProcessWithoutNullStreams {
  const args = [builtEntry('starlark-process'), String(process.pid)];
  // An executable of krmhub takes options of Node.js only from there.
  const env = { NODE_OPTIONS: `--max-old-space-size=${megabytes}` };
  const { program, setup } = limited({ program: process.execPath, args, env }, limits);
  const [file, ...rest] =
    WATCH_SHELL === undefined
      ? [program, ...args]
      : [WATCH_SHELL, '-c', `${setup} exec "$@"`, 'sh', program, ...args];
  return spawn(file!, rest, {
    env,
    detached: HAS_PROCESS_GROUPS,
    windowsHide: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
}
