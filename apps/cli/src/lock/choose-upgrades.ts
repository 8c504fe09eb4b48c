import { lockKey } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls } from '@krmhub/schema/text';
import { confirm } from '../io/confirm.js';
import type { Io } from '../io/io.js';
import { type LockPlan, type LockPlanOptions, planLockFile } from './plan-lock-file.js';
import { printChanges } from './print-lock.js';

export interface ChosenPlanOptions extends LockPlanOptions {
  /** Ask for each upgrade; what is refused stays as it is locked. */
  interactive: boolean;
}

/** Plans the lock file with the upgrades that the user wants. Throws `usage` if there is no terminal to ask at. */
export async function planChosen(
  io: Io,
  target: string,
  { interactive, ...options }: ChosenPlanOptions,
): Promise<LockPlan> {
  if (interactive && (io.stdin.isTTY !== true || io.stderr.isTTY !== true)) {
    throw new KrmhubError('usage', '--interactive needs a terminal to ask at', {
      hint: 'Nothing was changed. Name what to upgrade instead: --upgrade KIND',
    });
  }
  const plan = await planLockFile(io, target, options);
  if (!interactive) return plan;
  const keep = new Set<string>();
  // Questions are not part of the output.
  const terminal = { ...io, stdout: io.stderr };
  for (const change of plan.report.changes) {
    if (change.type !== 'changed') continue;
    await printChanges(terminal, { changes: [change], imageChanges: [] });
    if (!(await confirm(io, escapeControls(`Upgrade ${change.kind}?`)))) keep.add(lockKey(change));
  }
  for (const change of plan.report.imageChanges) {
    if (change.type !== 'changed') continue;
    await printChanges(terminal, { changes: [], imageChanges: [change] });
    if (!(await confirm(io, escapeControls(`Upgrade ${change.image}?`)))) keep.add(change.image);
  }
  return keep.size === 0 ? plan : planLockFile(io, target, { ...options, keep });
}
