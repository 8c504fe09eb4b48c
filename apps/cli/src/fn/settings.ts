import type { ResolverOptions } from '@krmhub/consume/resolve/resolution';
import type { FileFormat } from '@krmhub/functions/fn';
import type { PlannedLock } from '../lock/open-lock.js';
import type { RunPermissions } from '../run/permissions.js';
import type { RunnerOptions } from '../run/prepared-function.js';
import type { NamedImage } from '../run/run-image.js';

/** Where the output of functions goes. `report`: into the package, with a report on stdout. */
export type OutputTarget =
  | { type: 'package' }
  | { type: 'report' }
  | { type: 'stdout' }
  | { type: 'unwrap' }
  | { type: 'folder'; folder: string };

/** What containers of images get that the user or a Kptfile names. */
interface ImageSettings extends Required<Pick<NamedImage, 'pull' | 'asCurrentUser' | 'env'>> {
  /** Registry and path of images without one; kpt's catalog by default. */
  prefix?: string;
}

/** What all commands that run functions on packages have in common. */
export interface FnSettings {
  resolution: ResolverOptions;
  lock?: string;
  /** Counts in place of the lock file. */
  plannedLock?: PlannedLock;
  frozen: boolean;
  permissions: RunPermissions;
  /** Run programs that a Kptfile or a functionConfig names. */
  allowPackageExec: boolean;
  /** Run only images with a digest, of their reference or of the lock file. */
  requireDigest: boolean;
  images: ImageSettings;
  output: OutputTarget;
  resultsFolder?: string;
  /** Show at most four lines of results and of error output. */
  isTruncated: boolean;
  /** How files that exist are written. */
  format: FileFormat;
  /** Print the changes, and write nothing. */
  isDryRun: boolean;
  /** Leave out files that are not resources. */
  skipsUnreadable: boolean;
  hasStats: boolean;
  /** A function may delete all resources that it gets. */
  allowEmpty: boolean;
  onRun?: RunnerOptions['onRun'];
}

/** Reads the value of `--output`. */
export function readOutput(text: string | undefined): OutputTarget {
  if (text === undefined || text === '') return { type: 'package' };
  if (text === 'json') return { type: 'report' };
  if (text === 'stdout' || text === 'unwrap') return { type: text };
  return { type: 'folder', folder: text };
}
