/**
 * Shows what a new lock changes, before it is written: in definitions and permissions, manifests, and results.
 *
 * The package is rendered with both locks, by the code of the commands that a user runs. If the outputs differ, each is
 * made a second time, in turns: what differs between two runs with one lock is no effect of the upgrade.
 *
 * @module
 */

import { readdir } from 'node:fs/promises';
import { compareLocks, findRules, type Lock, type LockedFunction, lockKey } from '@krmhub/catalog';
import { isWriteFolder } from '@krmhub/functions/resource-list/reserved-files';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls, shellWord } from '@krmhub/schema/text';
import { FINDINGS } from '../io/exit-code.js';
import { watchForStop } from '../io/interrupt.js';
import type { Io } from '../io/io.js';
import { type ChosenPlanOptions, planChosen } from '../lock/choose-upgrades.js';
import { packageFolder } from '../lock/lock-file.js';
import type { LockPlan } from '../lock/plan-lock-file.js';
import { SecretHider } from './hide-secrets.js';
import { compareManifests, type ManifestChanges } from './manifests.js';
import { hideAll, packageTexts } from './package-texts.js';
import type { FunctionPreview, PreviewFormat, PreviewReport, PreviewWarning } from './preview-report.js';
import { previewTitle } from './preview-title.js';
import {
  type RenderCommand,
  type RenderFailure,
  type Rendering,
  type RenderOptions,
  renderCommands,
  renderWithLock,
} from './render-package.js';
import { type ComparedRenderings, compareResults, unstableFunctions } from './results.js';

export interface PreviewOptions {
  lock: ChosenPlanOptions;
  render: RenderOptions;
  output: PreviewFormat;
  /** Fail if the lock file would change. */
  check: boolean;
}

const NO_MANIFESTS: ManifestChanges = { changes: [], unstable: [], before: 0, after: 0, isReordered: false };

/**
 * Prints what `krmhub lock` would change in a package. Writes nothing. The exit code is that of the failure if the
 * package cannot be rendered with the new lock, and that of findings if an upgrade is not possible.
 */
export async function previewLock(io: Io, target: string, options: PreviewOptions): Promise<void> {
  const plan = await planChosen(io, target, { ...options.lock, keepsRejected: true });
  const report = await makeReport(io, target, plan, options);
  const { printPreview } = await import('./print-preview.js');
  await printPreview(io, report, options.output);
  const { after } = report.failures;
  if (after !== undefined) io.exitCode = after.exitCode;
  else if (report.rejected.length > 0 || (options.check && report.isChanged)) io.exitCode = FINDINGS;
}

async function makeReport(
  io: Io,
  target: string,
  plan: LockPlan,
  { render, lock: { upgrade } }: PreviewOptions,
): Promise<PreviewReport> {
  const { file, isChanged, imageChanges } = plan.report;
  const functions = describeFunctions(plan);
  const common = {
    file,
    isChanged,
    path: target,
    title: previewTitle(target, functions, imageChanges),
    command: previewCommand(plan.command, upgrade),
    functions,
    rejected: plan.rejected,
    imageChanges,
  };
  if (!isChanged) {
    const results = { appeared: [], disappeared: [] };
    const nothing = { notDeterministic: [], warnings: [], failures: {} };
    return { ...common, manifests: NO_MANIFESTS, results, ...nothing };
  }
  const compared = await renderBoth(io, target, plan, render);
  const hider = new SecretHider();
  const [before, after] = [compared.before[0]!, compared.after[0]!];
  const outputs = (runs: readonly Rendering[]) => runs.map((one) => one.outputs);
  const failure = (runs: readonly Rendering[]) => runs.find((one) => one.failure !== undefined)?.failure;
  const failures = { before: failure(compared.before), after: failure(compared.after) };
  const isComparable = failures.before === undefined && failures.after === undefined;
  // Results and failures can quote a Secret that no output has, and a function can copy its values.
  hideAll(await packageTexts(io, target, [before, after]), hider);
  const manifests = isComparable
    ? compareManifests({ before: outputs(compared.before), after: outputs(compared.after) }, hider)
    : NO_MANIFESTS;
  const shown = ({ hint, ...one }: RenderFailure) => ({
    ...one,
    message: hider.inMessage(one.message),
    ...defined({ hint: hint && hider.inMessage(hint) }),
  });
  return {
    ...common,
    manifests,
    results: isComparable ? compareResults(compared, hider) : { appeared: [], disappeared: [] },
    notDeterministic: unstableFunctions(compared),
    warnings: compareWarnings(before.warnings, after.warnings, hider),
    failures: defined({
      before: failures.before && shown(failures.before),
      after: failures.after && shown(failures.after),
    }),
  };
}

/** What is printed only with the lock as it is comes last: it ends. */
function compareWarnings(
  before: readonly string[],
  after: readonly string[],
  hider: SecretHider,
): PreviewWarning[] {
  return [...new Set([...after, ...before])].map((text) => {
    const lock = !after.includes(text) ? 'before' : before.includes(text) ? 'both' : 'after';
    return { text: hider.inMessage(text), lock };
  });
}

/** Without the options of the user, which can contain secrets. */
function previewCommand(command: string, upgrade: readonly string[] | undefined): string {
  const upgraded = upgrade === undefined ? [] : ['--upgrade', ...upgrade.map(shellWord)];
  return [command, ...upgraded, '--preview'].join(' ');
}

/** In turns, so that what follows a clock differs between the two runs of one lock if it differs between the locks. */
async function renderBoth(
  io: Io,
  target: string,
  { layer, stored, lock }: LockPlan,
  options: RenderOptions,
): Promise<ComparedRenderings> {
  const commands = renderCommands(layer);
  if (commands.some((one) => one !== 'build')) await refuseUnfinished(io, target);
  refuseOutputFlags(commands, options);
  const stop = watchForStop(io, 'the preview was stopped, and nothing was written');
  const render = async (one: Lock | undefined) => {
    const rendering = await renderWithLock(io, target, { commands, options, plannedLock: { lock: one } });
    // What the user stopped has not failed.
    stop.throwIfAborted();
    return rendering;
  };
  const [before, after] = [await render(stored?.lock), await render(lock)];
  const hasFailed = before.failure !== undefined || after.failure !== undefined;
  if (hasFailed || isSame(before, after)) return { before: [before], after: [after] };
  return { before: [before, await render(stored?.lock)], after: [after, await render(lock)] };
}

function isSame(before: Rendering, after: Rendering): boolean {
  const compared = ({ outputs, runs }: Rendering) =>
    JSON.stringify([outputs, runs.map(({ name, results }) => [name, results])]);
  return compared(before) === compared(after);
}

/** Reading such a package would complete the write. */
async function refuseUnfinished(io: Io, target: string): Promise<void> {
  const folder = await packageFolder(io, target);
  if (!(await readdir(folder)).some(isWriteFolder)) return;
  throw new KrmhubError(
    'conflict',
    escapeControls(`cannot preview ${target}: a write of the package was interrupted, or still runs`),
    { hint: `Complete it: krmhub fn source ${shellWord(target)} -o unwrap` },
  );
}

/** kustomize can write its output to a file. */
function refuseOutputFlags(commands: readonly RenderCommand[], { build }: RenderOptions): void {
  const isOutput = (flag: string) => /^(?:-o|--output)/.test(flag);
  if (!commands.includes('build') || !build.arguments.some(isOutput)) return;
  throw new KrmhubError('usage', '--preview writes nothing, so --output cannot follow --');
}

function describeFunctions({ stored, lock, report }: LockPlan): FunctionPreview[] {
  const compared = new Map(compareLocks(stored?.lock, lock).map((one) => [lockKey(one), one]));
  return report.changes.map((change) => {
    const { before, after } = compared.get(lockKey(change)) ?? {};
    const both = defined({ before: permissions(before), after: permissions(after) });
    return { ...change, permissions: both };
  });
}

/** What a function may do on the machine that runs it, in words. */
function permissions(fn: LockedFunction | undefined): string | undefined {
  const rules = fn && findRules(fn.runtime);
  return fn && rules?.permissions(rules.declare(fn.runtime));
}
