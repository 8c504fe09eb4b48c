import { runTest, type TestIoOptions } from '../apps/cli/src/testing/command-line.js';
import type { Finished, RunOptions } from './running.js';

/**
 * Runs a command in the process of the test, which takes a tenth of the time of a process of its own: for commands
 * whose result counts, and not how they start and end.
 */
export async function krmhubHere(
  args: readonly string[],
  { cwd, env, stdin }: Pick<RunOptions, 'cwd' | 'env' | 'stdin'> = {},
): Promise<Finished> {
  const options: TestIoOptions = {
    env: { ...(cwd === undefined ? {} : { HOME: cwd }), NO_COLOR: '1', ...env },
    ...(cwd === undefined ? {} : { cwd }),
    ...(stdin === undefined ? {} : { stdin }),
  };
  const io = await runTest(args, options);
  return { code: io.exitCode, stdout: io.out(), stderr: io.err() };
}
