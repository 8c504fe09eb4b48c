import { finished, spawn } from '../processes.js';

export interface Finished {
  /** `null` if a signal ended the command. */
  code: number | null;
  stdout: string;
  stderr: string;
  /** Whether it was ended because it took too long. */
  timedOut: boolean;
}

export interface CommandOptions {
  cwd: string;
  env: NodeJS.ProcessEnv;
  milliseconds: number;
}

/** Runs a command with an empty standard input; after the time, it and the processes that it started are killed. */
export async function runCommand(
  [program, ...args]: readonly string[],
  { cwd, env, milliseconds }: CommandOptions,
): Promise<Finished> {
  const child = spawn(program!, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    process.kill(-child.pid!, 'SIGKILL');
  }, milliseconds);
  try {
    return { ...(await finished(child)), timedOut };
  } finally {
    clearTimeout(timer);
  }
}
