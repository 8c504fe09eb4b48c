import { constructFromEvents, EVENT_ID, type Event, parseEvents } from 'js-yaml';
import type { JsonValue } from '../json-value.js';
import type { YamlLimits } from '../limits.js';
import { EventChecker } from './events.js';
import { openText, type ReadOptions } from './open-text.js';
import { locateInBlockYaml, readBlockYaml } from './read-block-yaml.js';
import { PLACEHOLDER, readYaml, type YamlDocument } from './read-yaml.js';
import type { Reporter } from './reporter.js';
import type { SourceText } from './source.js';

/** Thrown by `locate` of a clean file in which readYaml finds problems or other documents. */
export class NotClean extends Error {}

/**
 * Reads a file of one document without problems several times faster than readYaml. In plain block style,
 * positions of scalars are read as fast until another is asked for, or too many. All others are read by readYaml. Returns
 * undefined for a file with problems, or with anything that parsers may read in different ways: then use readYaml.
 */
export function readCleanYaml(input: Uint8Array, options: ReadOptions): YamlDocument | undefined {
  const { limits, reporter, source } = openText(input, options, 'maxSourceBytes');
  if (source === undefined || UNUSUAL.test(source.text) || source.text.includes(PLACEHOLDER))
    return undefined;
  const block = readBlockYaml(source.text, limits);
  const value = block ?? readUsual(source, limits, reporter);
  if (value === undefined) return undefined;
  let scans = block !== undefined && source.text.length <= MAX_SCANNED_LENGTH ? MAX_SCANS : 0;
  let precise: YamlDocument | undefined;
  return {
    value,
    index: 0,
    locate(path, target = 'value') {
      if (scans > 0) {
        scans -= 1;
        const found = locateInBlockYaml(source.text, limits, path, target);
        if (found !== undefined) return source.range(...found);
        scans = 0;
      }
      precise ??= onlyDocument(input, options);
      return precise.locate(path, target);
    },
  };
}

/** Positions to find by reading the text again. */
const MAX_SCANS = 10;
/** UTF-16 code units to read again. Real definitions are far smaller, and readYaml is faster than ten long scans. */
const MAX_SCANNED_LENGTH = 100_000;

/** Returns undefined for other than one document without problems. */
function readUsual(source: SourceText, limits: YamlLimits, reporter: Reporter): JsonValue | undefined {
  try {
    // The library also counts the document as a level.
    const events = parseEvents(source.text, { maxDepth: limits.maxDepth + 1 });
    if (!events.every(isUsual)) return undefined;
    const { empty } = new EventChecker(source.text, limits, reporter).check(events);
    if (empty.size > 0 || reporter.finish().length > 0) return undefined;
    const documents = constructFromEvents(events, { source: source.text }) as JsonValue[];
    return documents.length === 1 ? documents[0] : undefined;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return undefined;
  }
}

/** Tabs, carriage returns, directives, byte order marks: parsers differ in where they allow them. */
const UNUSUAL = /[\t\r\ufeff]|^(?:%|\.\.\.)/m;

/** Reports whether a node has no tag, no anchor, and no alias. */
function isUsual(event: Event): boolean {
  if (event.type === EVENT_ID.DOCUMENT || event.type === EVENT_ID.POP) return true;
  return event.type !== EVENT_ID.ALIAS && event.tagStart === -1 && event.anchorStart === -1;
}

function onlyDocument(input: Uint8Array, options: ReadOptions): YamlDocument {
  const { documents, diagnostics } = readYaml(input, options);
  const [document] = documents;
  if (document === undefined || documents.length > 1 || diagnostics.length > 0) throw new NotClean();
  return document;
}
