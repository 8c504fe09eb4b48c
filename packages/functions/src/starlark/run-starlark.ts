import { Worker } from 'node:worker_threads';
import { FUNCTION_LIMITS, type RunLimits } from '../limits.js';
import { finishRun } from '../output/finish-run.js';
import type { RunResult } from '../output/run-result.js';
import { BoundedBuffer } from '../process/bounded-buffer.js';
import type { ProgramEnd, ProgramResult } from '../process/run-program.js';
import { builtEntry } from './built-entry.js';
import type { ScriptMessage, ScriptTask } from './script-messages.js';

export interface StarlarkRun {
  /** File name of the script, for messages and positions. */
  name: string;
  /** The exact bytes that were verified. */
  script: Uint8Array;
}

/** As containers of functions get it (kyaml, `NewContainerEnv`); nothing of the environment of the user. */
const ENVIRONMENT = { LOG_TO_STDERR: 'true', STRUCTURED_RESULTS: 'true' };
/** Longer delays make a timer fire at once. */
const MAX_TIMER_MILLISECONDS = 2 ** 31 - 1;

/**
 * Runs a Starlark script with a ResourceList, in a thread of its own: a timeout, the signal, or the limit on memory ends
 * it in the middle of a loop. The script gets `ctx` as in kpt, and reaches no file, no network, and no clock.
 *
 * A script that fails gives exit code 1, with one result. Rejects with a FunctionFailure for a script that was ended, and
 * with the reason of the signal.
 */
export async function runStarlark(
  { name, script }: StarlarkRun,
  input: Uint8Array,
  limits: RunLimits,
  signal?: AbortSignal,
): Promise<RunResult> {
  signal?.throwIfAborted();
  const task: ScriptTask = { name, script, input, environment: ENVIRONMENT };
  const result = await inThread(task, limits, signal);
  return finishRun(result, { name, limits, isWrapped: false, signal });
}

async function inThread(
  task: ScriptTask,
  limits: RunLimits,
  signal: AbortSignal | undefined,
): Promise<ProgramResult> {
  const stderr = new BoundedBuffer(limits.maxStderrBytes);
  const worker = new Worker(builtEntry('starlark-thread'), {
    workerData: task,
    // Do not inherit options of the process, nor its environment.
    execArgv: [],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: FUNCTION_LIMITS.maxScriptMegabytes },
  });
  let timer: NodeJS.Timeout | undefined;
  let onAbort: (() => void) | undefined;
  try {
    const { end, output } = await new Promise<{ end: ProgramEnd; output: Uint8Array }>((resolve, reject) => {
      const ended = (end: ProgramEnd, output: Uint8Array = new Uint8Array()) => resolve({ end, output });
      onAbort = () => ended({ type: 'aborted' });
      signal?.addEventListener('abort', onAbort);
      timer = setTimeout(() => ended({ type: 'timeout' }), Math.min(limits.timeout, MAX_TIMER_MILLISECONDS));
      worker.on('message', (message: ScriptMessage) => {
        if (message.type === 'stderr') stderr.add(Buffer.from(message.text));
        else if (message.output.byteLength > limits.maxOutputBytes) ended({ type: 'too-large' });
        else ended({ type: 'exited', exitCode: message.exitCode }, message.output);
      });
      worker.once('error', (error: NodeJS.ErrnoException) => {
        // The thread used all the memory that it may have.
        if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') ended({ type: 'killed', signal: 'SIGKILL' });
        else reject(error);
      });
      worker.once('exit', () => reject(new Error('the thread of a script ended early')));
    });
    return { end, output, stderr: stderr.bytes(), stderrTruncated: stderr.isTruncated };
  } finally {
    clearTimeout(timer);
    if (onAbort !== undefined) signal?.removeEventListener('abort', onAbort);
    worker.removeAllListeners();
    worker.on('error', () => undefined);
    await worker.terminate();
  }
}
