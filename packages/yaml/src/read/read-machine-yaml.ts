import type { Diagnostic } from '../diagnostic.js';
import type { JsonValue } from '../json-value.js';
import type { YamlLimits } from '../limits.js';
import { openText, type ReadOptions } from './open-text.js';
import { readText } from './read-yaml.js';
import type { Reporter } from './reporter.js';
import { isInexactInteger } from './scalars.js';

/**
 * Reads a generated file, such as a catalog, of up to `maxCatalogBytes`. As readYaml does, but it does not detect
 * duplicate keys in JSON. Never throws. If there are errors, there are no documents.
 */
export function readMachineYaml(
  input: Uint8Array,
  options: ReadOptions,
): { documents: JsonValue[]; diagnostics: Diagnostic[] } {
  const opened = openText(input, options, 'maxCatalogBytes');
  const { limits, reporter, source } = opened;
  const json = source?.text.startsWith('{') ? readJson(source.text, limits, reporter) : undefined;
  const documents = json ?? readText(opened).documents.map(({ value }) => value);
  return { documents: reporter.hasErrors ? [] : documents, diagnostics: reporter.finish() };
}

/** Parses JSON. Returns undefined for other text, which can be YAML in braces. */
function readJson(text: string, limits: YamlLimits, reporter: Reporter): JsonValue[] | undefined {
  // JSON.parse would silently round such a long integer. The YAML parser rejects it.
  if (/\d{22}/.test(text)) return undefined;
  let value: JsonValue;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  checkJson(value, limits, reporter);
  return [value];
}

/** Iterative, because JSON.parse accepts any depth and recursion does not. */
function checkJson(root: JsonValue, limits: YamlLimits, reporter: Reporter): void {
  let level: JsonValue[] = [root];
  for (let depth = 0; level.length > 0; depth++) {
    const next: JsonValue[] = [];
    for (const value of level) {
      if (typeof value === 'number') checkNumber(value, reporter);
      if (typeof value !== 'object' || value === null) continue;
      if (depth >= limits.maxDepth) {
        reporter.report('yaml/too-deep', `more than ${limits.maxDepth} nested lists and mappings`);
        return;
      }
      if (Array.isArray(value)) {
        for (const item of value) next.push(item);
        continue;
      }
      const keys = Object.keys(value);
      if (keys.length > limits.maxMappingKeys) {
        reporter.report('yaml/too-many-keys', `a mapping has more than ${limits.maxMappingKeys} keys`);
        return;
      }
      for (const key of keys) {
        if (key === '__proto__') reporter.report('yaml/prototype-key', 'the key __proto__ is not allowed');
        else next.push(value[key]!);
      }
    }
    level = next;
  }
}

function checkNumber(value: number, reporter: Reporter): void {
  if (!Number.isFinite(value)) reporter.report('yaml/not-finite', 'a number is too large');
  else if (isInexactInteger(value)) {
    reporter.report('yaml/integer-precision', `the integer ${value} is too large to represent exactly`);
  }
}
