import type { CaseConfig } from './config.js';
import { isExitCode } from './differences.js';
import type { ProgramName } from './programs.js';
import type { Finished } from './run-command.js';

/** What one run of a case left. */
export interface Actual extends Finished {
  /** The text of `results.yaml`; empty without one. */
  results: string;
  /** The difference of the package to its first commit. */
  diff: string;
}

/** What the case expects, from its folder `.expected`. */
export interface Expected {
  results: string;
  diff: string;
}

export interface Difference {
  what: 'exit code' | 'stderr' | 'stdout' | 'results' | 'diff' | 'time' | 'setup' | 'teardown';
  expected: string;
  actual: string;
}

/** Returns where a run differs from what is expected, in the order in which kpt compares; empty if nowhere. */
export function compare(
  program: ProgramName,
  config: CaseConfig,
  expected: Expected,
  actual: Actual,
): Difference[] {
  const differences: Difference[] = [];
  const stderr = stripLines(normalizeTimes(actual.stderr), config.stdErrStripLines);
  if (!isExitCode(program, config.exitCode, actual.code)) {
    const text = `${actual.code}\n${actual.stderr}${actual.stdout === '' ? '' : `\nstandard output:\n${actual.stdout}`}`;
    differences.push({ what: 'exit code', expected: String(config.exitCode), actual: text });
  }
  if (!stderr.includes(config.stdErr.trim())) {
    differences.push({ what: 'stderr', expected: config.stdErr, actual: stderr });
  }
  if (config.stdErrRegEx !== '' && !new RegExp(config.stdErrRegEx, 'u').test(stderr)) {
    differences.push({ what: 'stderr', expected: `/${config.stdErrRegEx}/`, actual: stderr });
  }
  if (!actual.stdout.includes(config.stdOut.trim())) {
    differences.push({ what: 'stdout', expected: config.stdOut, actual: actual.stdout });
  }
  const results = stripLines(actual.results, config.actualStripLines).trim();
  if (results !== expected.results.trim()) {
    differences.push({ what: 'results', expected: expected.results.trim(), actual: results });
  }
  const diff = normalizeDiff(actual.diff);
  if (diff !== normalizeDiff(expected.diff)) {
    differences.push({ what: 'diff', expected: normalizeDiff(expected.diff), actual: diff });
  }
  return differences;
}

/** `[PASS] "image" in 1.2s` becomes `… in 0s`. */
export function normalizeTimes(text: string): string {
  return text.replace(/^(\[(?:PASS|FAIL)\].* in )(?:\d+(?:\.\d+)?(?:h|ms|µs|us|ns|m|s))+$/gm, '$10s');
}

/** The length of the hashes depends on git. */
export function normalizeDiff(text: string): string {
  return text
    .split('\n')
    .filter((line) => !/^index [0-9a-f]+\.\.[0-9a-f]+/.test(line))
    .join('\n')
    .trim();
}

function stripLines(text: string, marks: readonly string[]): string {
  if (marks.length === 0) return text;
  return text
    .split('\n')
    .filter((line) => !marks.some((mark) => line.includes(mark)))
    .join('\n');
}
