import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { WorkingFolder } from '@krmhub/consume/ports';
import type { FunctionResult } from '@krmhub/functions';
import { canonical } from '@krmhub/functions/conformance/compare';
import {
  applyWrite,
  type FileChange,
  type Package,
  planWrite,
  readPackage,
  runChain,
  type StepResult,
} from '@krmhub/functions/fn';
import { lineDiff } from '@krmhub/functions/output/line-diff';
import { defined } from '@krmhub/schema/defined';
import type { JsonValue } from '@krmhub/schema/definition';
import { fromJson, writeDocument } from '@krmhub/schema/resource-yaml';
import { plural } from '@krmhub/schema/text';
import { editedText } from '../io/edited-text.js';
import type { Io } from '../io/io.js';
import type { OpenedFunction } from './open-function.js';
import { EXPECTED, type Example, FAILURE_FILE, RESULTS_FILE, readExpectation } from './read-examples.js';
import type { ReportedCheck } from './report.js';

type Found = Omit<ReportedCheck, 'name'>;

const MAX_STDERR_LINES = 20;
const PASSED: Found = { status: 'passed' };

/**
 * Runs a function on an example, as `krmhub fn` does, and compares what it did with what is expected; `update` makes
 * that what is expected.
 */
export async function checkExample(
  io: Io,
  example: Example,
  opened: OpenedFunction,
  { update, signal }: { update: boolean; signal: AbortSignal },
): Promise<Found> {
  const { input, functionConfig, folder } = example;
  const config = functionConfig?.resource.text();
  const step = {
    name: opened.name,
    type: 'mutator' as const,
    run: (bytes: Uint8Array) => opened.run(bytes),
    ...defined({ functionConfig: config }),
    allowEmpty: true,
  };
  const { resources, steps, failed } = await runChain(input.resources, [step], { signal });
  const expectation = await readExpectation(io, example);
  if (expectation.failure !== undefined) return compareFailure(folder, expectation.failure, failed);
  if (failed !== undefined) {
    const details = stderrLines(failed);
    return {
      status: 'failed',
      reason: failureMessage(failed),
      at: { file: folder },
      ...defined({ details: details.length === 0 ? undefined : details }),
    };
  }
  const actual = filesAfter(input, planWrite(input, resources).changes);
  const { results } = steps[0]!;
  if (update) return writeExpected(io, folder, actual, results, expectation.results !== undefined);
  if (expectation.expected === undefined) {
    return {
      status: 'failed',
      reason: `it has no folder ${EXPECTED}: write it from what the function does with --update, and review it`,
      at: { file: folder },
    };
  }
  const changes = compareFiles(expectation.expected, actual);
  if (changes.length > 0) return differentFiles(folder, changes);
  return expectation.results === undefined ? PASSED : compareResults(folder, expectation.results, results);
}

function compareFailure(folder: string, lines: readonly string[], failed: StepResult | undefined): Found {
  const file = path.join(folder, FAILURE_FILE);
  if (failed === undefined) {
    return { status: 'failed', reason: 'the function succeeded, but should fail', at: { file } };
  }
  const said = [
    failed.error?.message ?? '',
    Buffer.from(failed.stderr).toString(),
    ...failed.results.map(({ message }) => message),
  ].join('\n');
  const at = lines.findIndex((line) => !said.includes(line));
  if (at === -1) return PASSED;
  const reason = `the function fails, but its message has no ${JSON.stringify(lines[at])}: ${failureMessage(failed)}`;
  return { status: 'failed', reason, at: { file, line: at + 1 } };
}

function failureMessage({ error, results, stderr }: StepResult): string {
  const result = results.find(({ severity = 'error' }) => severity === 'error')?.message;
  const said = result ?? Buffer.from(stderr).toString().trim().split('\n')[0] ?? '';
  return `${error?.message ?? 'the function failed'}${said === '' ? '' : `: ${said}`}`;
}

/** The error output, which has the positions in a script. */
function stderrLines({ stderr }: StepResult): string[] {
  const text = Buffer.from(stderr).toString().trimEnd();
  return text === '' ? [] : text.split('\n').slice(0, MAX_STDERR_LINES);
}

function filesAfter({ files }: Package, changes: readonly FileChange[]): Map<string, string> {
  const after = new Map([...files].map(([name, { text }]) => [name, text]));
  for (const change of changes) {
    if (change.type === 'delete') after.delete(change.path);
    else after.set(change.path, change.after);
  }
  return after;
}

function compareFiles({ files }: Package, actual: ReadonlyMap<string, string>): FileChange[] {
  const changes: FileChange[] = [];
  for (const [name, after] of actual) {
    const before = files.get(name)?.text;
    if (before === undefined) changes.push({ type: 'create', path: name, after });
    else if (before !== after) changes.push({ type: 'update', path: name, before, after });
  }
  for (const [name, { text }] of files) {
    if (!actual.has(name)) changes.push({ type: 'delete', path: name, before: text });
  }
  return changes;
}

function differentFiles(folder: string, changes: readonly FileChange[]): Found {
  const [first] = changes;
  const details = changes.flatMap((change) => {
    const before = change.type === 'create' ? '' : change.before;
    const after = change.type === 'delete' ? '' : change.after;
    return [
      `--- ${change.type === 'create' ? '/dev/null' : `${EXPECTED}/${change.path}`}`,
      `+++ ${change.type === 'delete' ? '/dev/null' : `output/${change.path}`}`,
      ...lineDiff(before, after),
    ];
  });
  const line = first?.type === 'update' ? firstDifferentLine(first.before, first.after) : undefined;
  return {
    status: 'failed',
    reason: `the output differs from ${EXPECTED} in ${plural(changes.length, 'file')}`,
    at: { file: path.join(folder, EXPECTED, first!.path), ...defined({ line }) },
    details,
  };
}

function firstDifferentLine(before: string, after: string): number {
  const now = after.split('\n');
  return before.split('\n').findIndex((line, at) => line !== now[at]) + 1 || 1;
}

function compareResults(
  folder: string,
  expected: readonly FunctionResult[],
  results: readonly FunctionResult[],
): Found {
  if (canonical(expected as never) === canonical(results as never)) return PASSED;
  return {
    status: 'failed',
    reason: 'the results differ from those that are expected',
    at: { file: path.join(folder, RESULTS_FILE) },
    details: [`--- ${RESULTS_FILE}`, '+++ results', ...lineDiff(resultsText(expected), resultsText(results))],
  };
}

function resultsText(results: readonly FunctionResult[]): string {
  return writeDocument(fromJson(JSON.parse(JSON.stringify(results)) as JsonValue));
}

async function writeExpected(
  io: WorkingFolder,
  folder: string,
  actual: ReadonlyMap<string, string>,
  results: readonly FunctionResult[],
  hasResults: boolean,
): Promise<Found> {
  const expected = path.resolve(io.cwd, folder, EXPECTED);
  mkdirSync(expected, { recursive: true });
  const before = await readPackage(expected);
  const changes = compareFiles(before, actual);
  await applyWrite(before, { changes });
  if (hasResults || results.length > 0) {
    const file = path.join(folder, RESULTS_FILE);
    writeFileSync(path.resolve(io.cwd, file), await editedText(io, file, resultsText(results)));
  }
  return {
    ...PASSED,
    ...defined({
      reason: changes.length === 0 ? undefined : `wrote ${plural(changes.length, 'file')} of ${EXPECTED}`,
    }),
  };
}
