/**
 * Runs functions on packages of resources, as `kpt fn` does.
 *
 * All functions of catalogs are resolved, checked, and fetched before the first function runs. Files are written once,
 * at the end: all or none. Progress and errors have the words of kpt, because its users search its output for them.
 *
 * @module
 */

import type { FileChange } from '@krmhub/functions/fn';
import { escapeControls } from '@krmhub/schema/text';
import { FINDINGS } from '../io/exit-code.js';
import { watchForStop } from '../io/interrupt.js';
import type { Io } from '../io/io.js';
import { printJson } from '../io/print.js';
import { Functions } from './functions.js';
import { Progress } from './progress.js';
import { writeNumberedResults, writeResults } from './results-folder.js';
import type { FnSettings } from './settings.js';

/** What the commands of `krmhub fn` share while they run. */
export interface FnSession {
  settings: FnSettings;
  progress: Progress;
  functions: Functions;
  signal: AbortSignal;
}

/** How a command ended. */
export interface FnOutcome {
  /** A function failed, and nothing was written. */
  hasFailed: boolean;
  changes: readonly FileChange[];
  /** Printed last, if nothing failed. */
  summary?: string;
}

export interface SessionOptions {
  /** Folder of the package, for its lock file. */
  folder: string;
  /** `numbered`: one file for each function, as in 2020. */
  results: 'one' | 'numbered';
  /** kpt prints an empty line before the summary of `eval`. */
  hasGap: boolean;
}

/**
 * Does the work of a command with functions, writes the results, also of functions that failed, and prints summary and
 * report.
 */
export async function withFunctions(
  io: Io,
  settings: FnSettings,
  { folder, results, hasGap }: SessionOptions,
  work: (session: FnSession) => Promise<FnOutcome>,
): Promise<void> {
  const signal = watchForStop(io, 'the functions were stopped, and nothing was written');
  const progress = new Progress(io, settings);
  const functions = new Functions(io, settings, folder, progress, signal);
  let outcome: FnOutcome = { hasFailed: true, changes: [] };
  try {
    outcome = await work({ settings, progress, functions, signal });
    if (outcome.hasFailed) io.exitCode = FINDINGS;
  } finally {
    await progress.flush();
    await functions.close();
    await finish(io, settings, { results, hasGap }, progress, outcome);
  }
  if (settings.output.type === 'report') {
    const report = { passed: !outcome.hasFailed, functions: progress.ran, changes: listed(outcome.changes) };
    await printJson(io, report);
  }
}

async function finish(
  io: Io,
  { resultsFolder, isDryRun }: FnSettings,
  { results, hasGap }: Pick<SessionOptions, 'results' | 'hasGap'>,
  progress: Progress,
  { summary, hasFailed }: FnOutcome,
): Promise<void> {
  if (summary !== undefined) progress.print(escapeControls(summary));
  // Also of a pipeline without functions.
  const hasResults = progress.ran.length > 0 || !hasFailed;
  if (resultsFolder !== undefined && !isDryRun && hasResults) {
    if (results === 'numbered') await writeNumberedResults(io, resultsFolder, progress.written);
    else {
      const name = await writeResults(io, resultsFolder, progress.ran);
      progress.print(`${hasGap ? '\n' : ''}For complete results, see ${escapeControls(name)}`);
    }
  }
  await progress.flush();
}

function listed(changes: readonly FileChange[]): { path: string; type: FileChange['type'] }[] {
  return changes.map(({ path, type }) => ({ path, type }));
}
