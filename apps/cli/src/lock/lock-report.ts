import type { FunctionChange } from './function-changes.js';

/** The result of a run; the JSON of `krmhub lock`. */
export interface LockReport {
  /** Relative to the working directory, if it is below it. */
  file: string;
  /** The file has now other bytes; with `--check`, it would. */
  isChanged: boolean;
  catalogs: number;
  functions: number;
  changes: FunctionChange[];
}
