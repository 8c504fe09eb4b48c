import type { OutputFormat } from '../io/print.js';
import type { BeforeAndAfter, FunctionChange } from '../lock/function-changes.js';
import type { LockReport } from '../lock/lock-report.js';
import type { RejectedUpgrade } from '../lock/plan-lock-file.js';
import type { ManifestChanges } from './manifests.js';
import type { RenderFailure } from './render-package.js';
import type { ResultChanges } from './results.js';

export type PreviewFormat = OutputFormat | 'markdown';

/** A function of a catalog whose lock changes. */
export interface FunctionPreview extends FunctionChange {
  /** What it may do on the machine that runs it, in words. */
  permissions: BeforeAndAfter;
}

/** What the commands that render the package warn of. */
export interface PreviewWarning {
  text: string;
  /** The lock with which it is printed. */
  lock: 'both' | 'before' | 'after';
}

/** What a new lock changes; the JSON of `krmhub lock --preview`. */
export interface PreviewReport extends Pick<LockReport, 'file' | 'isChanged' | 'imageChanges'> {
  /** The package, as the user named it. */
  path: string;
  /** One line: what is upgraded or downgraded. */
  title: string;
  /** Prints the same. */
  command: string;
  functions: FunctionPreview[];
  /** What stays as it is locked, because the new release rejects its functionConfig. */
  rejected: readonly RejectedUpgrade[];
  manifests: ManifestChanges;
  results: ResultChanges;
  /** Functions that give another output for the same input. */
  notDeterministic: string[];
  /** Of both locks, or of one: what the upgrade ends, and what it brings. */
  warnings: PreviewWarning[];
  /** Why nothing was rendered with the lock as it is, or as it would be. */
  failures: { before?: RenderFailure; after?: RenderFailure };
}
