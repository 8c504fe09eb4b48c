import { KrmhubError } from '@krmhub/schema/error';
import type { ArchiveBudget } from './archive-budget.js';
import { shown } from './entry-path.js';
import type { ExecutableLimits } from './limits.js';

/** How to read an archive: which entry to write, and within which limits. */
export interface ArchiveReading {
  /** Path of the executable in the archive. */
  bin: string;
  /** Gets the bytes of the executable. */
  write: (piece: Buffer) => Promise<void>;
  limits: ExecutableLimits;
  budget: ArchiveBudget;
}

/** The error if an archive does not contain the executable. */
export function missingEntry(bin: string): KrmhubError {
  return new KrmhubError('not-found', `the archive has no file ${shown(bin)}`, {
    hint: 'The field `bin` of the definition must be the path of the program in the archive.',
  });
}
