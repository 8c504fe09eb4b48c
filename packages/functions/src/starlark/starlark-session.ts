/**
 * Runs Starlark scripts in a separate process, and lints them.
 *
 * @module
 */

import { FUNCTION_ENVIRONMENT, FUNCTION_LIMITS, type RunLimits } from '../limits.js';
import { finishRun } from '../output/finish-run.js';
import { FunctionFailure } from '../output/function-failure.js';
import type { RunResult } from '../output/run-result.js';
import { type ScriptEnd, type ScriptLimits, ScriptProcess } from './script-process.js';

export interface StarlarkRun {
  /** File name of the script, for messages and positions. */
  name: string;
  /** The exact bytes that were verified. */
  script: Uint8Array;
  /** Heap of the script, its ResourceList included, in mebibytes; `maxScriptMegabytes` by default. */
  megabytes?: number;
}

/** V8 ends a process with a full heap, and the process itself when it is too large. */
const OUT_OF_MEMORY = ['SIGABRT', 'SIGTRAP', 'SIGILL', 'SIGKILL'];
/** What V8 writes before it ends a process. */
const V8_REPORT = /\n*(?:<--- Last few GCs --->|FATAL ERROR:|#\n# Fatal )[\s\S]*$/;
const MAX_REPORT = 500;

/**
 * Runs Starlark scripts in a process without an environment: a timeout, the signal, or the limit on memory ends it in
 * the middle of a loop. A script gets `ctx` as in kpt, and reaches no file, no network, and no clock.
 *
 * The process is used again for the next script, because its start takes longer than most scripts: a script leaves
 * nothing behind, since it can change only its own values. After one that was ended there is another process.
 */
export class StarlarkSession {
  #idle: ScriptProcess | undefined;
  #isClosed = false;

  /**
   * Runs a script with a ResourceList. A script that fails gives exit code 1, with one result. Rejects with a
   * FunctionFailure for a script that was ended, and with the reason of the signal.
   */
  async run(
    { name, script, megabytes = FUNCTION_LIMITS.maxScriptMegabytes }: StarlarkRun,
    input: Uint8Array,
    limits: RunLimits,
    signal?: AbortSignal,
  ): Promise<RunResult> {
    signal?.throwIfAborted();
    const own = this.#take({ megabytes, timeout: limits.timeout }, limits);
    const { measuresMemory = false } = limits;
    let result: ScriptEnd;
    try {
      result = await own.run(
        { name, script, input, environment: FUNCTION_ENVIRONMENT, measuresMemory },
        limits,
        signal,
      );
    } finally {
      if (own.isUsable && !this.#isClosed && this.#idle === undefined) this.#idle = own;
      else own.kill();
    }
    refuseEarlyEnd(result, name, megabytes);
    return finishRun(result, { name, input, limits, isWrapped: false, signal });
  }

  /** Ends the process. */
  close(): void {
    this.#isClosed = true;
    this.#idle?.kill();
    this.#idle = undefined;
  }

  #take(wanted: ScriptLimits, limits: RunLimits): ScriptProcess {
    const idle = this.#idle;
    this.#idle = undefined;
    if (idle?.isUsable === true) {
      if (idle.limits.megabytes === wanted.megabytes && idle.limits.timeout === wanted.timeout) return idle;
      idle.kill();
    }
    return new ScriptProcess(wanted, limits);
  }
}

function refuseEarlyEnd(
  { end, isEarly, stderr, stderrTruncated }: ScriptEnd,
  name: string,
  megabytes: number,
) {
  if (end.type === 'killed' && OUT_OF_MEMORY.includes(end.signal)) {
    const printed = Buffer.from(Buffer.from(stderr).toString().replace(V8_REPORT, '\n'));
    const run = { stderr: printed, stderrTruncated };
    throw new FunctionFailure(`function ${name} used more memory than ${megabytes} MiB`, run);
  }
  if (end.type === 'exited' && isEarly) {
    const report = Buffer.from(stderr).toString().slice(-MAX_REPORT);
    throw new Error(`the process of a script exited with ${end.exitCode}: ${report}`);
  }
}
