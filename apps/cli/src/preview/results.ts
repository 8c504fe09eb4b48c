import type { FunctionResult } from '@krmhub/functions';
import type { JsonValue } from '@krmhub/schema/definition';
import type { SecretHider } from './hide-secrets.js';
import type { RecordedRun, Rendering } from './render-package.js';

/** A result of a function, and the function without its release. */
export interface NamedResult extends FunctionResult {
  function: string;
}

export interface ResultChanges {
  appeared: NamedResult[];
  disappeared: NamedResult[];
}

/** What was rendered with each lock; twice if the first two differ. */
export interface ComparedRenderings {
  before: readonly Rendering[];
  after: readonly Rendering[];
}

/** Compares the results of functions. Those that only one of two runs with one lock has are left out. */
export function compareResults({ before, after }: ComparedRenderings, hider: SecretHider): ResultChanges {
  const [was, is] = [stableResults(before), stableResults(after)];
  const shown = (texts: readonly string[]) =>
    texts.map((text) => hideIn(JSON.parse(text) as NamedResult, hider));
  return { appeared: shown(without(is, was)), disappeared: shown(without(was, is)) };
}

/** Returns the functions that gave different outputs for the same input, each once. */
export function unstableFunctions({ before, after }: ComparedRenderings): string[] {
  const outputs = new Map<string, string>();
  const found = new Set<string>();
  for (const { name, exact, input, output } of [...before, ...after].flatMap(({ runs }) => runs)) {
    const key = JSON.stringify([exact, input]);
    const known = outputs.get(key) ?? output;
    outputs.set(key, known);
    if (known !== output) found.add(name);
  }
  return [...found];
}

function stableResults([first, second]: readonly Rendering[]): string[] {
  const texts = resultTexts(first?.runs ?? []);
  if (second === undefined) return texts;
  return without(texts, without(texts, resultTexts(second.runs)));
}

function resultTexts(runs: readonly RecordedRun[]): string[] {
  return runs.flatMap(({ name, results }) =>
    results.map((one) => JSON.stringify({ function: name, ...one } satisfies NamedResult)),
  );
}

/** The texts that the other list does not have, or has less often. */
function without(texts: readonly string[], other: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const text of other) counts.set(text, (counts.get(text) ?? 0) + 1);
  return texts.filter((text) => {
    const count = counts.get(text) ?? 0;
    counts.set(text, count - 1);
    return count <= 0;
  });
}

function hideIn(result: NamedResult, hider: SecretHider): NamedResult {
  const { field, resourceRef } = result;
  if (field !== undefined && resourceRef?.kind === 'Secret') {
    for (const name of ['currentValue', 'proposedValue'] as const) {
      const value = field[name];
      if (value !== undefined)
        field[name] = hider.value(typeof value === 'string' ? value : JSON.stringify(value));
    }
  }
  const { tags } = result;
  if (tags !== undefined) {
    result.tags = Object.fromEntries(Object.entries(tags).map(([name, one]) => [hider.inMessage(name), one]));
  }
  return hideTexts(result as unknown as JsonValue, hider) as unknown as NamedResult;
}

function hideTexts(value: JsonValue, hider: SecretHider): JsonValue {
  if (typeof value === 'string') return hider.inMessage(value);
  if (Array.isArray(value)) return value.map((one) => hideTexts(one, hider));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, hideTexts(one, hider)]));
}
