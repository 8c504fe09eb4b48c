import type { ConsumerReport } from '@krmhub/api/consumer-model';
import type { ImageChange } from '@krmhub/catalog';
import type { FunctionChange } from './function-changes.js';

/** The result of a run; the JSON of `krmhub lock`. */
export interface LockReport {
  /** Relative to the working directory, if it is below it. */
  file: string;
  /** The file has now other bytes; with `--check`, it would. */
  isChanged: boolean;
  catalogs: number;
  functions: number;
  /** Images that the package itself names without a digest. */
  images: number;
  /** Functions that are programs or scripts of the package, which are not locked. */
  unlocked: number;
  changes: FunctionChange[];
  imageChanges: ImageChange[];
  /** With `--report`: what was sent to each registry; with `--dry-run`, it would be. */
  reports?: PlannedReport[];
}

/** What is sent to a registry. */
export interface PlannedReport {
  registry: string;
  report: ConsumerReport;
}
