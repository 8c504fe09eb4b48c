import { COLLECTION_STYLE, EVENT_ID, type Event, parseEvents, SCALAR_STYLE } from 'js-yaml';
import { LOSSLESS_LIMITS } from './read.js';
import { isCertainlyText, type YamlMap, type YamlNode, type YamlScalar } from './tree.js';

/** A changed document: its tree has the nodes of the old one where nothing changed. */
export interface YamlChange {
  /** The tree that `readYamlTree` read from the text. */
  before: YamlNode;
  after: YamlNode;
  /** The old collection that a new one was made from. */
  originOf(node: YamlNode): YamlNode | undefined;
}

/**
 * Writes a change of scalars, and new fields of mappings, into the text of one document. The other bytes stay. Returns
 * undefined for any other change, which takes `editYaml`: that gives the same values, and takes some ten times as long.
 */
export function spliceYaml(text: string, change: YamlChange): string | undefined {
  const place = findPlaces(text);
  if (place === undefined) return undefined;
  const splicer = new Splicer(text, change.originOf);
  return splicer.change(change.before, place, change.after) ? splicer.result() : undefined;
}

/** Where a node is in the text. */
type Place =
  | { kind: 'scalar'; start: number; end: number; style: number }
  | { kind: 'map' | 'list'; isFlow: boolean; children: Place[] };

/** Returns undefined for a text with anchors, whose values are in other places too. */
function findPlaces(text: string): Place | undefined {
  let root: Place | undefined;
  const open: (Place & { kind: 'map' | 'list' })[] = [];
  const add = (place: Place) => {
    const parent = open.at(-1);
    if (parent === undefined) root ??= place;
    else parent.children.push(place);
  };
  for (const event of parseEvents(text, { maxDepth: LOSSLESS_LIMITS.maxDepth + 1 })) {
    if (isReferred(event)) return undefined;
    if (event.type === EVENT_ID.SCALAR) {
      add({ kind: 'scalar', start: event.valueStart, end: event.valueEnd, style: event.style });
    } else if (event.type === EVENT_ID.MAPPING || event.type === EVENT_ID.SEQUENCE) {
      const kind = event.type === EVENT_ID.MAPPING ? 'map' : 'list';
      const place = { kind, isFlow: event.style === COLLECTION_STYLE.FLOW, children: [] } as const;
      add(place as never);
      open.push(place as never);
    } else if (event.type === EVENT_ID.POP) open.pop();
  }
  return root;
}

function isReferred(event: Event): boolean {
  return event.type === EVENT_ID.ALIAS || ('anchorStart' in event && event.anchorStart !== -1);
}

class Splicer {
  readonly #text: string;
  readonly #originOf: YamlChange['originOf'];
  /** In the order of the text. */
  readonly #edits: { start: number; end: number; text: string }[] = [];

  constructor(text: string, originOf: YamlChange['originOf']) {
    this.#text = text;
    this.#originOf = originOf;
  }

  result(): string {
    const pieces: string[] = [];
    let at = 0;
    for (const { start, end, text } of this.#edits) {
      pieces.push(this.#text.slice(at, start), text);
      at = end;
    }
    pieces.push(this.#text.slice(at));
    return pieces.join('');
  }

  /** Notes what changes a node into another. Returns false if that is more than scalars and new fields. */
  change(before: YamlNode, place: Place, after: YamlNode): boolean {
    if (before === after) return true;
    if (before.kind !== place.kind || before.kind !== after.kind) return false;
    if (before.tag !== undefined || after.tag !== undefined) return false;
    if (before.kind === 'scalar') return this.#replace(place, after as YamlScalar);
    const origin = this.#originOf(after);
    if (origin !== undefined && origin !== before) return false;
    return before.kind === 'map'
      ? this.#map(before, place, after as YamlMap)
      : this.#list(before.items, place, (after as typeof before).items);
  }

  #replace(place: Place, after: YamlScalar): boolean {
    if (place.kind !== 'scalar' || place.start === -1 || isBlock(place)) return false;
    const { start, end, style } = place;
    const written = scalarIn(after, style);
    if (written === undefined || this.#text.slice(start, end).includes('\n')) return false;
    const quote = style === SCALAR_STYLE.PLAIN ? 0 : 1;
    this.#edits.push({ start: start - quote, end: end + quote, text: written });
    return true;
  }

  #map(before: YamlMap, place: Place, after: YamlMap): boolean {
    if (place.kind !== 'map') return false;
    const wanted = new Map(after.entries.map(([key, value]) => [key.value, value]));
    for (const [at, [key, value]] of before.entries.entries()) {
      const next = wanted.get(key.value);
      // A merge key has its fields in another place. What occurs twice is not there the second time.
      if (next === undefined || (key.plain && key.value === '<<')) return false;
      wanted.delete(key.value);
      if (!this.change(value, place.children[at * 2 + 1]!, next)) return false;
    }
    if (wanted.size === 0) return true;
    return this.#append(
      place,
      after.entries.filter(([key]) => wanted.has(key.value)),
    );
  }

  /** Writes new fields below the last one. */
  #append(place: Place & { kind: 'map' | 'list' }, added: YamlMap['entries']): boolean {
    const [first] = place.children;
    const last = lastScalar(place);
    if (first?.kind !== 'scalar' || last === undefined) return false;
    const end = this.#text.indexOf('\n', last.end) + 1;
    if (end === 0 || this.#text.slice(last.start, last.end).includes('\n')) return false;
    // A comment below may belong to the last field, or to the one below the new ones.
    COMMENT_BELOW.lastIndex = end;
    if (COMMENT_BELOW.test(this.#text)) return false;
    const quote = first.style === SCALAR_STYLE.PLAIN ? 0 : 1;
    const lead = this.#text.slice(this.#text.lastIndexOf('\n', first.start) + 1, first.start - quote);
    if (!/^ *(?:- +)*$/.test(lead)) return false;
    const lines: string[] = [];
    for (const [key, value] of added) {
      const text = this.#field(key, value, ' '.repeat(lead.length));
      if (text === undefined) return false;
      lines.push(text);
    }
    this.#edits.push({ start: end, end, text: lines.join('') });
    return true;
  }

  #field(key: YamlScalar, value: YamlNode, indent: string): string | undefined {
    const name = scalarIn(key, undefined);
    if (name === undefined) return undefined;
    if (value.kind === 'scalar') {
      const text = scalarIn(value, undefined);
      return text === undefined ? undefined : `${indent}${name}: ${text}\n`;
    }
    // What was moved here has its comments in another place.
    if (value.kind === 'list' || value.entries.length === 0 || this.#originOf(value) !== undefined) {
      return undefined;
    }
    const lines: string[] = [];
    for (const [inner, child] of value.entries) {
      const text = this.#field(inner, child, `${indent}  `);
      if (text === undefined) return undefined;
      lines.push(text);
    }
    return `${indent}${name}:\n${lines.join('')}`;
  }

  #list(before: readonly YamlNode[], place: Place, after: readonly YamlNode[]): boolean {
    if (place.kind !== 'list' || before.length !== after.length) return false;
    return before.every((item, at) => {
      const next = after[at]!;
      // `editYaml` moves comments with the text of an item.
      const isMoved =
        next !== item &&
        next.kind === 'scalar' &&
        before.some((other) => other.kind === 'scalar' && other.value === next.value);
      return !isMoved && this.change(item, place.children[at]!, next);
    });
  }
}

const COMMENT_BELOW = /\s*#/y;

/** The last scalar of a collection in block style; undefined if there is no line below it for another field. */
function lastScalar(place: Place): (Place & { kind: 'scalar' }) | undefined {
  if (place.kind !== 'scalar') {
    const last = place.children.at(-1);
    return place.isFlow || last === undefined ? undefined : lastScalar(last);
  }
  return isBlock(place) || place.start === -1 ? undefined : place;
}

function isBlock({ style }: Place & { kind: 'scalar' }): boolean {
  return style === SCALAR_STYLE.LITERAL_BLOCK || style === SCALAR_STYLE.FOLDED_BLOCK;
}

/** Text that is a string without quotes in every place. */
const PLAIN_TEXT = /^[A-Za-z_/](?:[\w./=+@~-]|:(?=[\w./-])| (?=[\w./-]))*(?<![:-])$/;
/** A number, a boolean, or null. */
const PLAIN_VALUE = /^[-+.\w]*[.\w]$/;
const PRINTABLE = /^[\x20-\x7e]*$/;

/**
 * Returns a scalar on one line, as `editYaml` writes it in place of one of this style; undefined if that takes more
 * care.
 */
function scalarIn({ value, plain, tag }: YamlScalar, style: number | undefined): string | undefined {
  if (tag !== undefined || !PRINTABLE.test(value)) return undefined;
  if (plain) return PLAIN_TEXT.test(value) || PLAIN_VALUE.test(value) ? value : undefined;
  if (style === SCALAR_STYLE.SINGLE_QUOTED) return `'${value.replaceAll("'", "''")}'`;
  if (style === SCALAR_STYLE.DOUBLE_QUOTED || !isCertainlyText(value)) return JSON.stringify(value);
  return PLAIN_TEXT.test(value) ? value : undefined;
}
