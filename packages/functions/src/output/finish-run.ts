/**
 * Turns the end of a program into the result of a function, or into its failure.
 *
 * @module
 */

import { constants } from 'node:os';
import type { RunLimits } from '../limits.js';
import type { ProgramResult } from '../process/run-program.js';
import { type FailedRun, FunctionFailure, OUTPUT_HINT } from './function-failure.js';
import { type FunctionOutput, hasNoResources, readFunctionOutput } from './resource-list.js';
import type { RunResult } from './run-result.js';

/** A shell, and what runs a program for us, adds this to the number of the signal that ended the program. */
const SIGNAL_BASE = 128;

export interface FinishedRun {
  /** What ran, for messages: an image, or the name of an executable. */
  name: string;
  /** Its ResourceList. */
  input: Uint8Array;
  limits: RunLimits;
  /** Whether another program ran the function and returns a signal as an exit code. */
  isWrapped: boolean;
  signal?: AbortSignal | undefined;
}

/**
 * Turns the end of a program into the result of a function. Throws a FunctionFailure if the function was ended, or if
 * it exited with 0 and did not write a ResourceList, except that it may write nothing if it got no resources. Throws the reason of the signal if the caller aborted the run.
 */
export function finishRun(
  result: ProgramResult,
  { name, input, limits, isWrapped, signal }: FinishedRun,
): RunResult {
  const { end, output, stderr, stderrTruncated, peakBytes } = result;
  const run = { stderr, stderrTruncated };
  const memory = peakBytes === undefined ? {} : { peakBytes };
  switch (end.type) {
    case 'aborted':
      throw signal?.reason;
    case 'timeout':
      throw new FunctionFailure(`function ${name} did not exit within ${seconds(limits.timeout)}`, run, {
        hint: 'To allow more time, use `--timeout`.',
      });
    case 'too-large':
      throw new FunctionFailure(
        `function ${name} wrote more than ${limits.maxOutputBytes} bytes to standard output`,
        run,
      );
    case 'left-open':
      throw new FunctionFailure(
        `function ${name} exited, but one of its processes still has the standard output open`,
        run,
      );
    case 'killed':
      throw killed(name, end.signal, run);
    case 'exited':
      break;
  }
  const { exitCode } = end;
  const endedBy = isWrapped ? signalName(exitCode) : undefined;
  if (endedBy !== undefined) throw killed(name, endedBy, { ...run, exitCode });
  const read = readFunctionOutput(output);
  if (exitCode !== 0) {
    const results = read.type === 'resource-list' && read.results.ok ? read.results.results : [];
    return { output, ...run, ...memory, exitCode, results };
  }
  const isAccepted =
    (read.type === 'other' && limits.acceptDocuments === true) ||
    // A pipeline of kyaml ends so without resources. Nothing can be lost.
    (read.type === 'empty' && hasNoResources(input));
  const problem = isAccepted ? undefined : outputProblem(read);
  if (problem !== undefined) {
    throw new FunctionFailure(
      `function ${name} exited with 0, but ${problem}`,
      { ...run, exitCode },
      { hint: OUTPUT_HINT },
    );
  }
  const results = read.type === 'resource-list' && read.results.ok ? read.results.results : [];
  return { output, ...run, ...memory, exitCode, results };
}

function outputProblem(read: FunctionOutput): string | undefined {
  switch (read.type) {
    case 'empty':
      return 'it wrote no output';
    case 'not-text':
      return 'its output is not UTF-8 text';
    case 'other':
      return `its output is not a ResourceList: it is ${read.what}`;
    case 'resource-list':
      return read.results.ok ? undefined : read.results.reason;
  }
}

function killed(name: string, signal: string, run: FailedRun): FunctionFailure {
  const reason = KILL_REASONS[signal];
  return new FunctionFailure(
    `function ${name} was killed by ${signal}${reason === undefined ? '' : `: ${reason}`}`,
    run,
  );
}

const KILL_REASONS: Readonly<Record<string, string>> = {
  SIGKILL: 'it may have used too much memory',
  SIGXFSZ: 'it wrote a file that is too large',
  SIGXCPU: 'it used too much CPU time',
};

function signalName(exitCode: number): string | undefined {
  return Object.entries(constants.signals).find(([, number]) => SIGNAL_BASE + number === exitCode)?.[0];
}

function seconds(milliseconds: number): string {
  const count = milliseconds / 1_000;
  return `${count} ${count === 1 ? 'second' : 'seconds'}`;
}
