import { defined } from '@krmhub/schema/defined';
import type { JsonObject, JsonValue } from '@krmhub/schema/definition';
import type { FunctionResult } from '../output/function-result.js';

/** One function of a `results.yaml`. */
export interface FunctionOutcome {
  image?: string;
  exec?: string;
  /** A function of a catalog: `GROUP/VERSION KIND`. kpt has no such field. */
  function?: string;
  stderr: string;
  /** Of the function; 1 if it did not run to its end. */
  exitCode: number;
  /** Its condition was false. */
  skipped?: boolean;
  results: readonly FunctionResult[];
}

/** The `results.yaml` of kpt: `kpt.dev/v1 FunctionResultList`. As there, skipped functions are left out. */
export function functionResultList(all: readonly FunctionOutcome[]): JsonObject {
  const outcomes = all.filter(({ skipped }) => skipped !== true);
  return {
    apiVersion: 'kpt.dev/v1',
    kind: 'FunctionResultList',
    metadata: { name: 'fnresults' },
    exitCode: outcomes.some(({ exitCode }) => exitCode !== 0) ? 1 : 0,
    ...defined({ items: outcomes.length === 0 ? undefined : outcomes.map(outcomeValue) }),
  };
}

function outcomeValue({
  image,
  exec,
  function: name,
  stderr,
  exitCode,
  results,
}: FunctionOutcome): JsonObject {
  return {
    ...defined({ image, exec, function: name, stderr: stderr === '' ? undefined : stderr }),
    exitCode,
    ...defined({ results: results.length === 0 ? undefined : results.map(resultValue) }),
  };
}

/** One result with its fields in the order of kpt. */
export function resultValue(result: FunctionResult): JsonObject {
  const { message, severity, resourceRef, field, file, tags } = result;
  return {
    message,
    ...defined({ severity }),
    ...present('resourceRef', resourceRef),
    ...present('field', field),
    // As kpt: the first resource of a file needs no index.
    ...present('file', file?.index === 0 ? { path: file.path } : file),
    ...present('tags', tags),
  };
}

function present(name: string, value: object | undefined): JsonObject {
  if (value === undefined || Object.keys(value).length === 0) return {};
  return { [name]: value as JsonValue };
}

/** Lines of each part that a summary shows. */
const SHOWN_LINES = 4;

/** The line of a result as kpt prints it: `[severity] apiVersion/kind/namespace/name field: message`. */
export function resultLine({ severity = 'info', message, resourceRef, field }: FunctionResult): string {
  const { apiVersion, kind, namespace, name } = resourceRef ?? {};
  const resource = [apiVersion, kind, namespace, name]
    .filter((part) => part !== undefined && part !== '')
    .join('/');
  const place = [resource, field?.path ?? ''].filter((part) => part !== '').join(' ');
  return `[${severity}]${place === '' ? '' : ` ${place}`}: ${message.replaceAll('\n', ' ')}`;
}

/** The lines below `[PASS]` or `[FAIL]`, as kpt prints them: results, then error output in quotes. */
export function summaryLines(
  { stderr, results }: Pick<FunctionOutcome, 'stderr' | 'results'>,
  isTruncated: boolean,
): string[] {
  return [
    ...part('Results', results.map(resultLine), isTruncated),
    ...(stderr === '' ? [] : part('Stderr', stderr.split('\n').map(quoted), isTruncated)),
  ];
}

function part(title: string, lines: readonly string[], isTruncated: boolean): string[] {
  if (lines.length === 0) return [];
  const shown = isTruncated ? lines.slice(0, SHOWN_LINES) : lines;
  const hidden = lines.length - shown.length;
  const more = `...(${hidden} line(s) truncated, use '--truncate-output=false' to disable)`;
  return [`  ${title}:`, ...[...shown, ...(hidden === 0 ? [] : [more])].map((line) => `    ${line}`)];
}

/** As Go's `%q`, for text without control characters other than these. */
function quoted(line: string): string {
  const text = line
    .replaceAll('\\', '\\\\')
    .replaceAll('"', '\\"')
    .replaceAll('\t', '\\t')
    .replaceAll('\r', '\\r');
  return `"${text}"`;
}
