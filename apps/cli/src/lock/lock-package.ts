/**
 * Locks and explains the functions of a package, without running them.
 *
 * Other commands open the lock file here, and check functionConfigs against the schema of their function.
 *
 * @module
 */

import path from 'node:path';
import { writeFileAtomically } from '@krmhub/consume/files/write-file';
import { defined } from '@krmhub/schema/defined';
import { FINDINGS } from '../io/exit-code.js';
import type { Io } from '../io/io.js';
import type { OutputFormat } from '../io/print.js';
import { type ChosenPlanOptions, planChosen } from './choose-upgrades.js';
import type { PlannedReport } from './lock-report.js';
import type { LockPlan } from './plan-lock-file.js';
import type { ReportOptions } from './report-consumer.js';

export interface LockOptions extends ChosenPlanOptions, ReportOptions {
  /** Report to the registries of its catalogs which releases the package locks. */
  report: boolean;
  /** Write and send nothing. */
  dryRun: boolean;
  output: OutputFormat;
  /** Change nothing, and fail if something would change. */
  check: boolean;
}

/** Writes the lock file of a package as `planChosen` plans it. */
export async function lockPackage(io: Io, target: string, options: LockOptions): Promise<void> {
  const plan = await planChosen(io, target, options);
  const { file, command, stored, text } = plan;
  const { isChanged } = plan.report;
  const { check, dryRun } = options;
  // A lock file that is out of date is not what runs.
  const reports = options.report && !(check && isChanged) ? await planned(io, plan, options) : undefined;
  if (isChanged && !check && !dryRun) await writeFileAtomically(file, text, { overwrite: true });
  const report = { ...plan.report, ...defined({ reports }) };
  const { printLockReport } = await import('./print-lock.js');
  await printLockReport(io, report, { ...options, command, before: stored?.text ?? '', after: text });
  if (isChanged && check) io.exitCode = FINDINGS;
  if (reports === undefined) return;
  const { printReports, sendReports } = await import('./report-consumer.js');
  await printReports(io, reports, { isDryRun: dryRun });
  if (!dryRun) await sendReports(io, reports);
}

async function planned(io: Io, plan: LockPlan, options: LockOptions): Promise<PlannedReport[]> {
  const { planReports } = await import('./report-consumer.js');
  return planReports(io, plan, path.dirname(plan.file), options);
}
