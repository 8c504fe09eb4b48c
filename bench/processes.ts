import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';

export interface Started {
  pid: number;
  /** The match of the pattern in its output. */
  match: RegExpExecArray;
  stop(): Promise<void>;
}

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Starts a program that keeps running, and waits until its output, which goes to a file, matches. */
export async function startProcess(
  [program, args]: readonly [string, string[]],
  options: { output: string; until: RegExp; env?: NodeJS.ProcessEnv; cwd?: string; milliseconds?: number },
): Promise<Started> {
  const file = openSync(options.output, 'w');
  const child = spawn(program, args, {
    stdio: ['ignore', file, file],
    env: options.env ?? process.env,
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  closeSync(file);
  running.add(child);
  const ended = once(child, 'exit').finally(() => running.delete(child));
  // Only the caller that awaits it handles the rejection.
  ended.catch(() => undefined);
  const deadline = performance.now() + (options.milliseconds ?? 60_000);
  for (;;) {
    const output = readFileSync(options.output, 'utf8');
    const said = options.until.exec(output);
    if (said !== null) return { pid: child.pid!, match: said, stop: () => end(child, ended) };
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) {
      throw new Error(`${program} ${args.join(' ')} ended before it was ready:\n${output.slice(-2_000)}`);
    }
    if (performance.now() > deadline) {
      await end(child, ended);
      throw new Error(`${program} ${args.join(' ')} was not ready in time:\n${output.slice(-2_000)}`);
    }
    await setTimeout(20);
  }
}

async function end(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  const late = new AbortController();
  const killer = setTimeout(60_000, undefined, { signal: late.signal }).then(
    () => child.kill('SIGKILL'),
    () => undefined,
  );
  await ended;
  late.abort();
  await killer;
}

/** Runs a program to its end and returns its output. */
export async function runProcess(
  [program, args]: readonly [string, string[]],
  options: { env?: NodeJS.ProcessEnv; cwd?: string; error?: 'inherit' } = {},
): Promise<string> {
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', options.error ?? 'pipe'],
    env: options.env ?? process.env,
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  running.add(child);
  let stdout = '';
  let stderr = '';
  child.stdout!.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    if (code === 0) return stdout;
    throw new Error(`${program} ${args.join(' ')} ended with ${code}: ${(stderr || stdout).slice(-2_000)}`);
  } finally {
    running.delete(child);
  }
}
