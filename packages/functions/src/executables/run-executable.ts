/**
 * Installs executable functions, and runs them.
 *
 * What runs is a copy that is verified for each run. The exception is `run-in-place.ts`, for an executable that the
 * user named and allowed.
 *
 * @module
 */

import { mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Digest } from '@krmhub/schema/digest';
import { EXECUTABLE_LIMITS } from '../archives/limits.js';
import type { RunLimits } from '../limits.js';
import { finishRun } from '../output/finish-run.js';
import { type FailedRun, FunctionFailure } from '../output/function-failure.js';
import type { RunResult } from '../output/run-result.js';
import { watchFolder } from '../process/parent-watch.js';
import { runProgram } from '../process/run-program.js';
import { type Command, limited } from '../process/shell-limits.js';
import { type Sandbox, sandboxArguments, sandboxFilter } from '../sandbox/bubblewrap.js';
import { findHiddenInterpreter, type HiddenInterpreter } from './interpreter.js';
import { copyVerified } from './verified-copy.js';

export interface ExecRun {
  /** The installed executable, in a folder that only this user can write. */
  file: string;
  /** Digest of that file, from `installExecutable`. */
  sha256: Digest;
  args?: readonly string[];
  /** Absolute path. */
  cwd: string;
  /** All of the environment. Without PATH, a script does not find its interpreter. */
  env: Readonly<Record<string, string>>;
  /** From `findSandbox`. Without one, the function can do what this user can. */
  sandbox?: Sandbox;
  /** Allows the network of this machine. Without a sandbox, the network cannot be taken away. */
  network: boolean;
  /** The home folder, which the sandbox hides; that of this user by default. */
  home?: string;
  /** Other folders with keys and tokens of the user, which the sandbox hides. */
  secrets?: readonly string[];
}

/**
 * Runs an executable function. What runs is a private copy, made and verified for this run: a file that
 * is swapped after its installation never runs.
 *
 * When this resolves or rejects, or krmhub is killed, its processes have ended and the copy is removed. Without a
 * sandbox, a process that left its process group with `setsid` may still run, and files that the function wrote stay.
 *
 * Rejects with a FunctionFailure if the function was ended, killed, or wrote no ResourceList; with `digest-mismatch` if
 * the file was changed.
 */
export async function runExecutable(
  run: ExecRun,
  input: Uint8Array,
  limits: RunLimits,
  signal?: AbortSignal,
): Promise<RunResult> {
  signal?.throwIfAborted();
  const name = path.basename(run.file);
  const folder = await mkdtemp(path.join(path.dirname(run.file), '.run-'));
  const endWatch = watchFolder(folder);
  try {
    const file = path.join(folder, name);
    const copy = await copyVerified({
      from: run.file,
      to: file,
      sha256: run.sha256,
      mode: 0o500,
      maxBytes: EXECUTABLE_LIMITS.maxUnpackedBytes,
      name,
    });
    // Linux does not run a file that is open for writing.
    await copy.close();
    const interpreter = run.sandbox && (await findHiddenInterpreter(run));
    if (interpreter?.isShown === false) throw interpreterFailure(name, interpreter, NOT_STARTED);
    const command = limited(await buildCommand(run, file), limits);
    const extraInput = run.sandbox && sandboxFilter(run.sandbox);
    const result = await runProgram({ ...command, cwd: run.cwd, input, extraInput, limits, signal });
    const finished = finishRun(result, { name, input, limits, isWrapped: run.sandbox !== undefined, signal });
    const didNotStart = CANNOT_START.includes(finished.exitCode);
    if (interpreter !== undefined && didNotStart) throw interpreterFailure(name, interpreter, finished);
    return finished;
  } finally {
    await rm(folder, { recursive: true, force: true });
    endWatch();
  }
}

/** Exit codes of a shell and of `env` for a program that cannot run or is not found. */
const CANNOT_START = [126, 127];
const NOT_STARTED: FailedRun = { stderr: new Uint8Array(), stderrTruncated: false };

function interpreterFailure(name: string, { file }: HiddenInterpreter, run: FailedRun): FunctionFailure {
  return new FunctionFailure(
    `function ${name} is a script whose interpreter the sandbox hides: ${file}`,
    run,
    {
      hint: 'Install the interpreter outside of your home folder and /tmp, for example with the package manager of the system.',
    },
  );
}

async function buildCommand(
  { sandbox, args = [], cwd, env, network, home, secrets }: ExecRun,
  file: string,
): Promise<Command> {
  if (sandbox === undefined) return { program: file, args, env };
  const inside = await sandboxArguments(sandbox, { file, args, cwd, env, network, home, secrets });
  // The environment of the function must not act on bubblewrap, which is outside of the sandbox.
  return { program: sandbox.program, args: inside, env: {} };
}
