import { constructFromEvents, type Event, parseEvents, YAMLException } from 'js-yaml';
import type { JsonValue } from '../definition.js';
import type { Diagnostic } from '../diagnostic.js';
import type { DocumentLimits } from '../limits.js';
import { EventChecker } from './events.js';
import type { Reporter } from './reporter.js';
import type { SourceText } from './source.js';
import { openText, type ReadOptions } from './text.js';

/**
 * Reads a file that a machine wrote, such as a catalog: several times faster than readYaml, without the
 * places of values. The refusals are the same, but reading ends at the first error in the syntax, and JSON
 * does not tell of duplicate keys. Never throws. With errors in the diagnostics there are no documents.
 */
export function readMachineYaml(
  input: Uint8Array,
  options: ReadOptions,
): { documents: JsonValue[]; diagnostics: Diagnostic[] } {
  const { limits, reporter, source } = openText(input, options, 'maxCatalogBytes');
  if (source === undefined) return { documents: [], diagnostics: reporter.finish() };
  const documents = source.text.startsWith('{')
    ? (readJson(source.text, limits, reporter) ?? readEvents(source, limits, reporter))
    : readEvents(source, limits, reporter);
  if (documents.length === 0 && !reporter.hasErrors) {
    reporter.report('yaml/empty', 'the file holds no document', 0);
  }
  return { documents: reporter.hasErrors ? [] : documents, diagnostics: reporter.finish() };
}

/** Undefined for what is no JSON: it may still be YAML in braces. */
function readJson(text: string, limits: DocumentLimits, reporter: Reporter): JsonValue[] | undefined {
  let value: JsonValue;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  checkJson(value, limits, reporter);
  return [value];
}

/** Walks by hand: JSON.parse takes any depth, a recursive walk does not. */
function checkJson(root: JsonValue, limits: DocumentLimits, reporter: Reporter): void {
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
  else if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    reporter.report('yaml/integer-precision', `the integer ${value} is too large to be kept exactly`);
  }
}

function readEvents(source: SourceText, limits: DocumentLimits, reporter: Reporter): JsonValue[] {
  try {
    const events = parseEvents(source.text, { maxDepth: limits.maxDepth });
    new EventChecker(source.text, limits, reporter).check(events);
    if (reporter.hasErrors) return [];
    return constructFromEvents(withoutEmptyDocuments(events), { source: source.text }) as JsonValue[];
  } catch (error) {
    reportException(error, limits, reporter);
    return [];
  }
}

/** A document without content is the event that begins it and the event that ends it. */
function withoutEmptyDocuments(events: Event[]): Event[] {
  return events.filter((event, index) => !isEmptyAt(events, index) && !(index > 0 && isEmptyAt(events, index - 1)));
}
