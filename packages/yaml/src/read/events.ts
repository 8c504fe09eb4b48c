import { EVENT_ID, type Event, getScalarValue, SCALAR_STYLE, type ScalarEvent } from 'js-yaml';
import type { YamlLimits } from '../limits.js';
import type { Reporter } from './reporter.js';
import { checkPlainScalar, isPlainNonString, shorten } from './scalars.js';

/** Tags of the YAML core schema, and the non-specific tag. */
const CORE_TAG = /^!(?:!(?:map|seq|str|int|float|bool|null))?$/;
const VERBATIM_CORE_TAG = /^!<tag:yaml\.org,2002:(?:map|seq|str|int|float|bool|null)>$/;

/** An open collection or document. */
interface Frame {
  mapping: boolean;
  keys: number;
  /** In mappings, whether the next node is a key. */
  atKey: boolean;
  anchor: string | undefined;
  /** The number of values, including those from aliases. */
  size: number;
}

/** Checks parser events against the limits before values are built. */
export class EventChecker {
  private readonly frames: Frame[] = [];
  private readonly sizes = new Map<string, number>();
  private aliased = 0;
  private readonly text: string;
  private readonly limits: YamlLimits;
  private readonly reporter: Reporter;

  constructor(text: string, limits: YamlLimits, reporter: Reporter) {
    this.text = text;
    this.limits = limits;
    this.reporter = reporter;
  }

  /** The index of the document, from 0. `empty` counts documents without content. */
  check(events: readonly Event[]): { empty: Set<number> } {
    const empty = new Set<number>();
    let documents = 0;
    for (const [index, event] of events.entries()) {
      switch (event.type) {
        case EVENT_ID.DOCUMENT: {
          if (event.directives.length > 0) {
            this.reporter.report('yaml/directive', 'directives (%) are not allowed', 0);
          }
          const content = events[index + 1];
          if (content?.type === EVENT_ID.SCALAR && isEmptyScalar(content)) empty.add(documents);
          if (++documents > this.limits.maxDocuments) {
            const message = `the file contains more than ${this.limits.maxDocuments} documents`;
            this.reporter.report('yaml/too-many-documents', message);
            return { empty };
          }
          this.sizes.clear();
          this.aliased = 0;
          this.frames.push({ mapping: false, keys: 0, atKey: false, anchor: undefined, size: 0 });
          break;
        }
        case EVENT_ID.POP:
          this.close();
          break;
        case EVENT_ID.ALIAS:
          this.alias(this.text.slice(event.anchorStart, event.anchorEnd), event.anchorStart);
          break;
        default:
          this.node(event);
      }
    }
    return { empty };
  }

  private node(event: Exclude<Event, { type: 1 | 5 | 6 }>): void {
    const start = event.type === EVENT_ID.SCALAR ? event.valueStart : event.start;
    const parent = this.frames.at(-1);
    const isKey = this.enter(parent, start);
    if (event.tagStart !== -1) this.checkTag(event.tagStart, event.tagEnd);
    const anchor = event.anchorStart === -1 ? undefined : this.text.slice(event.anchorStart, event.anchorEnd);
    if (event.type === EVENT_ID.SCALAR) {
      if (isKey) this.checkKey(event);
      else if (event.style === SCALAR_STYLE.PLAIN && event.tagStart === -1 && event.valueStart !== -1) {
        this.checkPlain(event);
      }
      if (anchor !== undefined) this.sizes.set(anchor, 1);
      return;
    }
    if (isKey) this.reporter.report('yaml/non-string-key', 'the key is a collection, not a string', start);
    const mapping = event.type === EVENT_ID.MAPPING;
    this.frames.push({ mapping, keys: 0, atKey: mapping, anchor, size: 1 });
  }

  /** Counts a node in its parent, and returns whether it is a key. */
  private enter(parent: Frame | undefined, start: number): boolean {
    if (parent === undefined) return false;
    parent.size++;
    if (!parent.mapping) return false;
    const isKey = parent.atKey;
    parent.atKey = !isKey;
    if (isKey && ++parent.keys === this.limits.maxMappingKeys + 1) {
      const message = `a mapping has more than ${this.limits.maxMappingKeys} keys`;
      this.reporter.report('yaml/too-many-keys', message, start);
    }
    return isKey;
  }

  private close(): void {
    const frame = this.frames.pop();
    if (frame === undefined) return;
    if (frame.anchor !== undefined) this.sizes.set(frame.anchor, frame.size);
    const parent = this.frames.at(-1);
    if (parent !== undefined) parent.size += frame.size - 1;
  }

  private alias(name: string, start: number): void {
    const parent = this.frames.at(-1);
    if (this.enter(parent, start)) this.reporter.report('yaml/non-string-key', 'a key is an alias', start);
    if (this.frames.some((frame) => frame.anchor === name)) {
      this.reporter.report('yaml/alias', `the alias *${shorten(name)} is inside its own anchor`, start);
      return;
    }
    const size = this.sizes.get(name) ?? 1;
    if (parent !== undefined) parent.size += size - 1;
    const before = this.aliased;
    this.aliased += size;
    if (this.aliased > this.limits.maxAliases && before <= this.limits.maxAliases) {
      const message = `the aliases of this document expand to more than ${this.limits.maxAliases} values`;
      this.reporter.report('yaml/too-many-aliases', message, start);
    }
  }

  private checkKey(event: ScalarEvent): void {
    const name = event.valueStart === -1 ? '' : getScalarValue(this.text, event);
    if (name === '__proto__') {
      this.reporter.report(
        'yaml/prototype-key',
        'the key __proto__ is not allowed',
        event.valueStart,
        event.valueEnd,
      );
    } else if (event.style === SCALAR_STYLE.PLAIN && event.tagStart === -1) {
      if (name === '<<') {
        const message = 'merge keys (<<) are not allowed';
        this.reporter.report('yaml/merge-key', message, event.valueStart, event.valueEnd);
      } else if (isPlainNonString(name)) {
        const what = name === '' ? 'an empty key' : `the key ${shorten(name)}`;
        this.reporter.report(
          'yaml/non-string-key',
          `${what} is not a string`,
          event.valueStart,
          event.valueEnd,
        );
      } else this.checkPlain(event);
    }
  }

  private checkPlain(event: ScalarEvent): void {
    const problem = checkPlainScalar(getScalarValue(this.text, event));
    if (problem === undefined) return;
    this.reporter.report(problem.code, problem.message, event.valueStart, event.valueEnd);
  }

  private checkTag(start: number, end: number): void {
    const tag = this.text.slice(start, end);
    if (CORE_TAG.test(tag) || VERBATIM_CORE_TAG.test(tag)) return;
    this.reporter.report(
      'yaml/tag',
      `the tag ${shorten(tag)} is not one of the YAML core schema`,
      start,
      end,
    );
  }
}

function isEmptyScalar(event: ScalarEvent): boolean {
  return event.valueStart === -1 && event.tagStart === -1 && event.anchorStart === -1;
}
