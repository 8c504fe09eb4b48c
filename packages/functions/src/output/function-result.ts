import type { JsonValue } from '@krmhub/schema/definition';
import { readMachineYaml } from '@krmhub/schema/yaml/read-machine-yaml';

export const RESULT_SEVERITIES = ['error', 'warning', 'info'] as const;
export type ResultSeverity = (typeof RESULT_SEVERITIES)[number];

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

export type ReadResults = { ok: true; results: FunctionResult[] } | { ok: false; reason: string };

/** Reads the value of `results`: a list, or the mapping with `items` of functions from 2020. */
export function readResults(value: JsonValue | undefined): ReadResults {
  if (value === undefined || value === null) return { ok: true, results: [] };
  const list = isMapping(value) ? (value.items ?? []) : value;
  if (!Array.isArray(list)) return { ok: false, reason: '`results` is not a list' };
  const results: FunctionResult[] = [];
  for (const [index, item] of list.entries()) {
    if (!isMapping(item)) return { ok: false, reason: `\`results[${index}]\` is not a mapping` };
    results.push(readResult(item));
  }
  return { ok: true, results };
}

/** Reads the lines of a ResourceList from `results:` on. */
export function readResultsText(text: string, maxBytes: number): ReadResults {
  const { documents, diagnostics } = readMachineYaml(Buffer.from(text), {
    file: 'results',
    limits: { maxCatalogBytes: maxBytes },
  });
  const problem = diagnostics.find(({ severity }) => severity === 'error');
  if (problem !== undefined) return { ok: false, reason: `cannot read \`results\`: ${problem.message}` };
  const [document] = documents;
  return readResults(isMapping(document) ? document.results : undefined);
}

type Mapping = { [key: string]: JsonValue };

function readResult(item: Mapping): FunctionResult {
  const { severity, resourceRef, field, file, tags } = item;
  const result: FunctionResult = { message: asText(item.message) ?? '' };
  const known = RESULT_SEVERITIES.find((name) => name === severity);
  if (known !== undefined) result.severity = known;
  if (isMapping(resourceRef)) {
    result.resourceRef = texts(resourceRef, ['apiVersion', 'kind', 'name', 'namespace']);
  }
  if (isMapping(field)) {
    result.field = {
      ...texts(field, ['path']),
      ...(field.currentValue === undefined ? {} : { currentValue: field.currentValue }),
      ...(field.proposedValue === undefined ? {} : { proposedValue: field.proposedValue }),
    };
  }
  if (isMapping(file)) {
    result.file = {
      ...texts(file, ['path']),
      ...(typeof file.index === 'number' ? { index: file.index } : {}),
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
