import path from 'node:path';
import type { RunLimits } from '../limits.js';
import { finishRun } from '../output/finish-run.js';
import type { RunResult } from '../output/run-result.js';
import { type Environment, runProgram } from '../process/run-program.js';

export interface InPlaceRun {
  /** Path of the executable. */
  file: string;
  args?: readonly string[];
  /** Absolute path. */
  cwd: string;
  /** All of the environment. */
  env: Environment;
}

/**
 * Runs an executable that the user named and allowed, where it is: nothing verifies it, and it can do what its user
 * can. kustomize and kpt run their exec functions like this. For everything that a catalog names there is
 * `runExecutable`.
 *
 * Rejects as `runExecutable`, except that it does not compare digests.
 */
export async function runInPlace(
  { file, args = [], cwd, env }: InPlaceRun,
  input: Uint8Array,
  limits: RunLimits,
  signal?: AbortSignal,
): Promise<RunResult> {
  signal?.throwIfAborted();
  const result = await runProgram({ program: file, args, cwd, env, input, limits, signal });
  return finishRun(result, { name: path.basename(file), input, limits, isWrapped: false, signal });
}
