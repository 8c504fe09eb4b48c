/**
 * Locks and explains the functions of a package, without running them.
 *
 * Other commands open the lock file here, and check functionConfigs against the schema of their function.
 *
 * @module
 */

import { writeFileAtomically } from '@krmhub/consume/files/write-file';
import { FINDINGS } from '../io/exit-code.js';
import type { Io } from '../io/io.js';
import type { OutputFormat } from '../io/print.js';
import { type ChosenPlanOptions, planChosen } from './choose-upgrades.js';

export interface LockOptions extends ChosenPlanOptions {
  output: OutputFormat;
  /** Change nothing, and fail if something would change. */
  check: boolean;
}

/** Writes the lock file of a package as `planChosen` plans it. */
export async function lockPackage(io: Io, target: string, options: LockOptions): Promise<void> {
  const { file, command, stored, text, report } = await planChosen(io, target, options);
  const { isChanged } = report;
  if (isChanged && !options.check) await writeFileAtomically(file, text, { overwrite: true });
  const { printLockReport } = await import('./print-lock.js');
  await printLockReport(io, report, { ...options, command, before: stored?.text ?? '', after: text });
  if (isChanged && options.check) io.exitCode = FINDINGS;
}
