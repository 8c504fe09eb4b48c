import { KrmhubError } from '@krmhub/schema/error';

/** What is known about a function that failed. */
export interface FailedRun {
  /** Error output, as in RunResult. */
  stderr: Uint8Array;
  stderrTruncated: boolean;
  /** Absent if the function was ended. */
  exitCode?: number;
}

/** What a function that wrote something else has to do. */
export const OUTPUT_HINT =
  'A function must write a ResourceList to standard output, and messages to standard error.';

/** A function that ran and broke the contract of KRM functions, or a limit. The code is `function-failed`. */
export class FunctionFailure extends KrmhubError {
  readonly stderr: Uint8Array;
  readonly stderrTruncated: boolean;
  readonly exitCode: number | undefined;

  constructor(message: string, run: FailedRun, options: { hint?: string; cause?: unknown } = {}) {
    super('function-failed', message, options);
    this.stderr = run.stderr;
    this.stderrTruncated = run.stderrTruncated;
    this.exitCode = run.exitCode;
  }
}
