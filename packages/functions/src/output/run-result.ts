import type { FunctionResult } from './function-result.js';

/** What a function gave back. */
export interface RunResult {
  /** The exact bytes of its ResourceList. If `exitCode` is not 0, whatever it wrote. */
  output: Uint8Array;
  /** At most `maxStderrBytes`, from the start. Text of the function: escape it before you print it. */
  stderr: Uint8Array;
  stderrTruncated: boolean;
  /** A code other than 0 means that the function failed (KRM Functions Specification, "Exit Code"). */
  exitCode: number;
  /** `results` of its ResourceList; empty if the function failed and its output cannot be read. */
  results: FunctionResult[];
  /**
   * The most memory that a process of the function was seen with, if `RunLimits.measuresMemory` asked for it; absent if
   * unknown.
   */
  peakBytes?: number;
}
