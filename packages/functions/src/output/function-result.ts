import { defined } from '@krmhub/schema/defined';
import type { JsonValue } from '@krmhub/schema/definition';
import { KrmhubError } from '@krmhub/schema/error';
import { readResources, toJson } from '@krmhub/schema/resource-yaml';
import { readMachineYaml } from '@krmhub/yaml/read/read-machine-yaml';

export const RESULT_SEVERITIES = ['error', 'warning', 'info'] as const;
export type ResultSeverity = (typeof RESULT_SEVERITIES)[number];
/** What functions write for them: `warn` is of the guide of 2020. A fatal error must not look weaker than an error. */
const OTHER_SEVERITIES: ReadonlyMap<string, ResultSeverity> = new Map([
  ['warn', 'warning'],
  ['fatal', 'error'],
  ['critical', 'error'],
]);

/** One result of a function (KRM Functions Specification v1, "Result"). All text is the function's. */
export interface FunctionResult {
  message: string;
  /** Absent where the function gave none: the specification says `error` then, and kpt prints `info`. */
  severity?: ResultSeverity;
  resourceRef?: { apiVersion?: string; kind?: string; name?: string; namespace?: string };
  field?: { path?: string; currentValue?: JsonValue; proposedValue?: JsonValue };
  file?: { path?: string; index?: number };
  tags?: Record<string, string>;
}

/** Their names in the guide of 2020 are replaced: `warn` by `warning`, `suggestedValue` by `proposedValue`. */
export type ReadResults = { ok: true; results: FunctionResult[] } | { ok: false; reason: string };

/**
 * Reads the value of `results`: a list, or a group of functions of 2020, `{name, items}`, or a list of such groups (kpt
 * functions guide of 2020, "ResourceList.results").
 */
export function readResults(value: JsonValue | undefined): ReadResults {
  if (value === undefined || value === null) return { ok: true, results: [] };
  const results: FunctionResult[] = [];
  const reason = addResults(results, isMapping(value) ? (value.items ?? []) : value, '`results');
  return reason === undefined ? { ok: true, results } : { ok: false, reason };
}

/** Adds the results of a list, with those of its groups. Returns what is wrong. */
function addResults(results: FunctionResult[], list: JsonValue, where: string): string | undefined {
  if (!Array.isArray(list)) return `${where}\` is not a list`;
  for (const [index, item] of list.entries()) {
    if (!isMapping(item)) return `${where}[${index}]\` is not a mapping`;
    if (item.items === undefined || item.message !== undefined) results.push(readResult(item));
    else {
      const reason = addResults(results, item.items ?? [], `${where}[${index}].items`);
      if (reason !== undefined) return reason;
    }
  }
  return undefined;
}

/** Reads the lines of a ResourceList from `results:` on. */
export function readResultsText(text: string, maxBytes: number): ReadResults {
  const read = readOutputYaml(text, maxBytes);
  if ('reason' in read) return { ok: false, reason: `cannot read \`results\`: ${read.reason}` };
  const [document] = read.documents;
  return readResults(isMapping(document) ? document.results : undefined);
}

/**
 * Reads YAML as a function wrote it. Values that parsers read differently are read as kpt reads them: libraries of
 * functions write words such as `y` and `on` without quotes.
 */
export function readOutputYaml(
  text: string,
  maxBytes: number,
): { documents: JsonValue[] } | { reason: string } {
  const bytes = Buffer.from(text);
  const fast = readMachineYaml(bytes, { file: 'output', limits: { maxCatalogBytes: maxBytes } });
  if (!fast.diagnostics.some(({ severity }) => severity === 'error')) return { documents: fast.documents };
  try {
    return { documents: readResources(text, 'output').map(({ node }) => toJson(node)) };
  } catch (error) {
    if (!(error instanceof KrmhubError)) throw error;
    return { reason: error.message.replace(/^output(?::\d+)*: /, '') };
  }
}

type Mapping = { [key: string]: JsonValue };

function readResult(item: Mapping): FunctionResult {
  const { severity, resourceRef, field, file, tags } = item;
  const result: FunctionResult = { message: asText(item.message) ?? '' };
  const written = asText(severity)?.toLowerCase() ?? '';
  const known = OTHER_SEVERITIES.get(written) ?? RESULT_SEVERITIES.find((name) => name === written);
  if (known !== undefined) result.severity = known;
  if (isMapping(resourceRef)) {
    // kyaml had the metadata of the resource before the specification.
    const metadata = isMapping(resourceRef.metadata) ? resourceRef.metadata : {};
    result.resourceRef = {
      ...texts(resourceRef, ['apiVersion', 'kind']),
      ...texts(metadata, ['name', 'namespace']),
      ...texts(resourceRef, ['name', 'namespace']),
    };
  }
  if (isMapping(field)) {
    const { currentValue, proposedValue = field.suggestedValue } = field;
    result.field = {
      ...texts(field, ['path']),
      // As kpt: a value that is null is none.
      ...defined({ currentValue: currentValue ?? undefined, proposedValue: proposedValue ?? undefined }),
    };
  }
  if (isMapping(file)) {
    result.file = {
      ...texts(file, ['path']),
      ...defined({ index: typeof file.index === 'number' ? file.index : undefined }),
    };
  }
  if (isMapping(tags)) {
    result.tags = Object.fromEntries(
      Object.entries(tags).flatMap(([name, value]) => {
        const text = asText(value);
        return text === undefined ? [] : [[name, text]];
      }),
    );
  }
  return result;
}

function texts<Name extends string>(value: Mapping, names: readonly Name[]): { [Key in Name]?: string } {
  const found: { [Key in Name]?: string } = {};
  for (const name of names) {
    const text = asText(value[name]);
    if (text !== undefined) found[name] = text;
  }
  return found;
}

function asText(value: JsonValue | undefined): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
}

function isMapping(value: JsonValue | undefined): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
