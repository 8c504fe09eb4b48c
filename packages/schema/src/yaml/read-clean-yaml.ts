import { constructFromEvents, EVENT_ID, type Event, parseEvents } from 'js-yaml';
import type { Path, Range, Target } from '../diagnostics/diagnostic.js';
import type { JsonValue } from '../documents/definition.js';
import type { DocumentLimits } from '../documents/limits.js';
import { EventChecker } from './events.js';
import { locateScalar } from './locate-scalar.js';
import { openText, type ReadOptions } from './open-text.js';
import { readBlockYaml } from './read-block-yaml.js';
import { PLACEHOLDER, readYaml, type YamlDocument } from './read-yaml.js';
import type { Reporter } from './reporter.js';
import type { SourceText } from './source.js';

/** Thrown by `locate` of a clean file in which readYaml finds problems or other documents. */
export class NotClean extends Error {}

/**
 * Reads a file of one document without problems several times faster than readYaml. Positions of scalars are read from
 * parser events, others from readYaml, once the first is asked for: a document with few findings needs none. Returns
 * undefined for a file with problems, or with anything that parsers may read in different ways: then use readYaml.
 */
export function readCleanYaml(input: Uint8Array, options: ReadOptions): YamlDocument | undefined {
  const { limits, reporter, source } = openText(input, options, 'maxSourceBytes');
  if (source === undefined || UNUSUAL.test(source.text) || source.text.includes(PLACEHOLDER))
    return undefined;
  let value: JsonValue | undefined = readBlockYaml(source.text, limits);
  let events: Event[] | undefined;
  if (value === undefined) {
    events = readEvents(source, limits);
    value = events && constructValue(events, source, limits, reporter);
  }
  if (value === undefined) return undefined;
  let locateSoon: ScalarLocator | undefined = scalarLocator(events, source, limits);
  let precise: YamlDocument | undefined;
  return {
    value,
    index: 0,
    locate(path, target = 'value') {
      const range = locateSoon?.(path, target);
      if (range !== undefined) return range;
      locateSoon = undefined;
      precise ??= onlyDocument(input, options);
      return precise.locate(path, target);
    },
  };
}

/** Returns undefined for text that the parser rejects. */
function readEvents(source: SourceText, limits: DocumentLimits): Event[] | undefined {
  try {
    // The library also counts the document as a level.
    return parseEvents(source.text, { maxDepth: limits.maxDepth + 1 });
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return undefined;
  }
}

/** Returns undefined for other than one document without problems. */
function constructValue(
  events: Event[],
  source: SourceText,
  limits: DocumentLimits,
  reporter: Reporter,
): JsonValue | undefined {
  if (!events.every(isUsual)) return undefined;
  try {
    const { empty } = new EventChecker(source.text, limits, reporter).check(events);
    if (empty.size > 0 || reporter.finish().length > 0) return undefined;
    const documents = constructFromEvents(events, { source: source.text }) as JsonValue[];
    return documents.length === 1 ? documents[0] : undefined;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return undefined;
  }
}

/** Positions to find by reading all events before the one in question. */
const MAX_SCANS = 10;
/** Events that stay in memory with their document. A definition has some hundred, a hostile one millions. */
const MAX_KEPT_EVENTS = 10_000;

type ScalarLocator = (path: Path, target: Target) => Range | undefined;

/**
 * A function of its own, since what any function in a function uses stays in memory for all of them. Without events, it
 * reads them for the first position.
 */
function scalarLocator(
  read: readonly Event[] | undefined,
  source: SourceText,
  limits: DocumentLimits,
): ScalarLocator | undefined {
  let events = read;
  let located = 0;
  if (events !== undefined && events.length > MAX_KEPT_EVENTS) return undefined;
  return (path, target) => {
    if (++located > MAX_SCANS) return undefined;
    events ??= readEvents(source, limits);
    return events && locateScalar(events, source, path, target);
  };
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
