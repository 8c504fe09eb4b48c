import { FUNCTION_LIMITS, type RunLimits } from '../limits.js';
import { finishRun } from '../output/finish-run.js';
import { FunctionFailure } from '../output/function-failure.js';
import type { RunResult } from '../output/run-result.js';
import { builtEntry } from '../process/built-entry.js';
import { type ProgramResult, runProgram } from '../process/run-program.js';
import { limited } from '../process/shell-limits.js';
import { writeTask } from './script-task.js';

export interface StarlarkRun {
  /** File name of the script, for messages and positions. */
  name: string;
  /** The exact bytes that were verified. */
  script: Uint8Array;
  /** Heap of the script, its ResourceList included, in mebibytes; `maxScriptMegabytes` by default. */
  megabytes?: number;
}

/** As containers of functions get it (kyaml, `NewContainerEnv`); nothing of the environment of the user. */
const ENVIRONMENT = { LOG_TO_STDERR: 'true', STRUCTURED_RESULTS: 'true' };
/** V8 ends a process with a full heap, and the process itself when it is too large. */
const OUT_OF_MEMORY = ['SIGABRT', 'SIGTRAP', 'SIGILL', 'SIGKILL'];
/** What V8 writes before it ends a process. */
const V8_REPORT = /\n*(?:<--- Last few GCs --->|FATAL ERROR:|#\n# Fatal )[\s\S]*$/;
const MAX_REPORT = 500;

/**
 * Runs a Starlark script with a ResourceList, in a process of its own without an environment: a timeout, the signal, or the
 * limit on memory ends it in the middle of a loop. The script gets `ctx` as in kpt, and reaches no file, no network, and no
 * clock.
 *
 * A script that fails gives exit code 1, with one result. Rejects with a FunctionFailure for a script that was ended, and
 * with the reason of the signal.
 */
export async function runStarlark(
  { name, script, megabytes = FUNCTION_LIMITS.maxScriptMegabytes }: StarlarkRun,
  input: Uint8Array,
  limits: RunLimits,
  signal?: AbortSignal,
): Promise<RunResult> {
  signal?.throwIfAborted();
  const args = [`--max-old-space-size=${megabytes}`, builtEntry('starlark-process'), String(process.pid)];
  const command = limited({ program: process.execPath, args, env: {} }, limits);
  const task = writeTask({ name, script, input, environment: ENVIRONMENT });
  const result = await runProgram({ ...command, input: task, limits, signal });
  refuseEarlyEnd(result, name, megabytes);
  return finishRun(result, { name, limits, isWrapped: false, signal });
}

function refuseEarlyEnd(
  { end, output, stderr, stderrTruncated }: ProgramResult,
  name: string,
  megabytes: number,
) {
  if (end.type === 'killed' && OUT_OF_MEMORY.includes(end.signal)) {
    const printed = Buffer.from(Buffer.from(stderr).toString().replace(V8_REPORT, '\n'));
    const run = { stderr: printed, stderrTruncated };
    throw new FunctionFailure(`function ${name} used more memory than ${megabytes} MiB`, run);
  }
  // A script that fails writes its ResourceList.
  if (end.type === 'exited' && end.exitCode !== 0 && output.byteLength === 0) {
    const report = Buffer.from(stderr).toString().slice(-MAX_REPORT);
    throw new Error(`the process of a script exited with ${end.exitCode}: ${report}`);
  }
}
