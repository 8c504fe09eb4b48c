import type { Path, PathSegment, Target } from '../diagnostic.js';
import type { JsonObject, JsonValue } from '../json-value.js';
import type { NestingLimits } from '../limits.js';
import { checkPlainScalar, isPlainNonString } from './scalars.js';

/**
 * Reads plain block style: one mapping, with keys and items on lines of their own, comments, and plain, double-quoted, or
 * literal scalars. It takes a fraction of the time and memory of parser events. Returns undefined for everything else,
 * valid or not: anchors, tags, flow collections, tabs, empty values, scalars of several lines, duplicate keys, or
 * anything that parsers may read in different ways. The text was decoded from UTF-8, and has no character that YAML
 * forbids (`findForbiddenCharacter`).
 */
export function readBlockYaml(text: string, limits: NestingLimits): JsonObject | undefined {
  if (UNUSUAL.test(text)) return undefined;
  try {
    return new BlockReader(text, limits).read();
  } catch (error) {
    if (error === NOT_BLOCK) return undefined;
    throw error;
  }
}

/**
 * Returns the offsets of a scalar, of an empty collection, or of a key, in text that readBlockYaml accepted with the
 * same limits. Items have no key: their value is returned. Undefined for other collections, for a literal block, and for
 * a path that leads to nothing. Takes as long as reading the text up to there.
 */
export function locateInBlockYaml(
  text: string,
  limits: NestingLimits,
  path: Path,
  target: Target,
): readonly [start: number, end: number] | undefined {
  const search = new PathSearch(path, target);
  try {
    new BlockReader(text, limits, search).read();
  } catch (error) {
    if (error !== FOUND) throw error;
  }
  return search.found;
}

/** Follows a path through the keys and items that a reader reports in their order. Throws FOUND at its end. */
class PathSearch {
  found: readonly [start: number, end: number] | undefined;
  /** Segments of the path that lead to where the reader is. */
  #entered = 0;
  /** Whether the next scalar is at the end of the path, if no collection begins before it. */
  #isNext = false;
  readonly #path: Path;
  readonly #target: Target;

  constructor(path: Path, target: Target) {
    this.#path = path;
    this.#target = target;
  }

  /** `level` counts from 0. Keys have offsets, items have none. Returns whether to call `leave` after the value. */
  enter(level: number, segment: PathSegment, start?: number, end?: number): boolean {
    if (this.#entered !== level || this.#path[level] !== segment) return false;
    this.#entered += 1;
    if (this.#entered < this.#path.length) return true;
    if (this.#target === 'key' && start !== undefined && end !== undefined) this.#end(start, end);
    this.#isNext = true;
    return true;
  }

  leave(): void {
    this.#entered -= 1;
    this.#isNext = false;
  }

  scalar(start: number, end: number): void {
    if (this.#isNext) this.#end(start, end);
  }

  collection(): void {
    this.#isNext = false;
  }

  #end(start: number, end: number): never {
    this.found = [start, end];
    throw FOUND;
  }
}

const UNUSUAL = /[\t\r\ufeff]/;
/** Thrown without a stack, since any file may have another style. */
const NOT_BLOCK = Symbol('not block style');
/** Thrown to read no further. */
const FOUND = Symbol('found');

/** Far below the 1,024 characters in which parsers search for the colon of a key. */
const KEY = /(?:([A-Za-z][A-Za-z0-9._/-]{0,254})|"([^"\\\n]{0,255})"):(?=[ \n])/y;
/** With spaces at its end, which are not part of it. `#endLine` checks what follows. */
const PLAIN = /[A-Za-z/^][A-Za-z0-9 ._/:@+=(),;'^-]*/y;
/** A digest that begins with a digit. A number can have this form too (`isPlainString`). */
const HEX = /[0-9][0-9a-f]{63}(?=[ \n])/y;
/** Without exponents and negative zero. */
const NUMBER = /(?:0|-?[1-9][0-9]{0,14})(?:\.[0-9]{1,10})?(?=[ \n])/y;
/** What precedes a value on the line of its key. */
const BEFORE_VALUE = / +(?=[^ #\n])/y;
const WORDS: ReadonlyMap<string, JsonValue> = new Map([
  ['true', true],
  ['false', false],
  ['null', null],
]);

const LINE_FEED = 0x0a;
const SPACE = 0x20;
const QUOTE = 0x22;
const HASH = 0x23;
const DASH = 0x2d;
const BACKSLASH = 0x5c;
/** Escapes that mean the same in JSON, without those of surrogates. */
const ESCAPE = /\\(?:["\\/nrt]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4})/y;

class BlockReader {
  readonly #text: string;
  readonly #limits: NestingLimits;
  /** Where the reader is. At the start of a line: the first character after its indentation. */
  #at = 0;
  /** Indentation of the line, or column of an item after its dash; -1 at the end. */
  #column = -1;
  readonly #search: PathSearch | undefined;

  constructor(text: string, limits: NestingLimits, search?: PathSearch) {
    this.#text = text;
    this.#limits = limits;
    this.#search = search;
  }

  read(): JsonObject {
    this.#startContent();
    if (this.#column === 0 && this.#text.startsWith('---\n', this.#at)) {
      this.#at += 4;
      this.#startContent();
    }
    if (this.#column !== 0) throw NOT_BLOCK;
    return this.#mapping(0, 1);
  }

  /** Goes to the next line that is not empty and not a comment. */
  #startContent(): void {
    this.#startLine();
    this.#skipLines();
  }

  /** Skips empty lines and comments, from the first character after the indentation. */
  #skipLines(): void {
    while (this.#column !== -1) {
      const code = this.#text.charCodeAt(this.#at);
      if (code === HASH) this.#skipComment();
      else if (code !== LINE_FEED) return;
      this.#at++;
      this.#startLine();
    }
  }

  /** Goes from a comment to the end of its line. */
  #skipComment(): void {
    this.#at = this.#text.indexOf('\n', this.#at);
    if (this.#at === -1) throw NOT_BLOCK;
  }

  #startLine(): void {
    const start = this.#at;
    if (start === this.#text.length) {
      this.#column = -1;
      return;
    }
    while (this.#text.charCodeAt(this.#at) === SPACE) this.#at++;
    this.#column = this.#at - start;
  }

  /** Goes past the end of a line without further content. A comment needs a space before it. */
  #endLine(): void {
    const start = this.#at;
    while (this.#text.charCodeAt(this.#at) === SPACE) this.#at++;
    if (this.#at > start && this.#text.charCodeAt(this.#at) === HASH) this.#skipComment();
    if (this.#text.charCodeAt(this.#at) !== LINE_FEED) throw NOT_BLOCK;
    this.#at++;
  }

  /** All keys are at `column`. */
  #mapping(column: number, depth: number): JsonObject {
    if (depth >= this.#limits.maxDepth) throw NOT_BLOCK;
    this.#search?.collection();
    const mapping: JsonObject = {};
    let keys = 0;
    while (this.#column === column) {
      const start = this.#at;
      const key = this.#key();
      if (++keys > this.#limits.maxMappingKeys || Object.hasOwn(mapping, key)) throw NOT_BLOCK;
      const isOnPath = this.#search?.enter(depth - 1, key, start, this.#at - 1);
      mapping[key] = this.#value(column, depth);
      if (isOnPath) this.#search?.leave();
    }
    if (this.#column > column) throw NOT_BLOCK;
    return mapping;
  }

  #key(): string {
    const found = match(KEY, this.#text, this.#at);
    if (found === null) throw NOT_BLOCK;
    const [all, plain, quoted] = found;
    if (plain !== undefined && !isPlainString(plain)) throw NOT_BLOCK;
    const key = plain ?? quoted!;
    if (key === '__proto__') throw NOT_BLOCK;
    this.#at += all.length;
    return key;
  }

  /** The value of a key at `column`: on its line, or on the next lines. */
  #value(column: number, depth: number): JsonValue {
    const spaces = match(BEFORE_VALUE, this.#text, this.#at);
    if (spaces !== null) {
      this.#at += spaces[0].length;
      return this.#scalar(column);
    }
    this.#endLine();
    this.#startContent();
    if (this.#column >= column && this.#isItem) return this.#sequence(this.#column, depth + 1);
    if (this.#column <= column) throw NOT_BLOCK;
    return this.#mapping(this.#column, depth + 1);
  }

  get #isItem(): boolean {
    return this.#text.charCodeAt(this.#at) === DASH && this.#text.charCodeAt(this.#at + 1) === SPACE;
  }

  /** All dashes are at `column`. */
  #sequence(column: number, depth: number): JsonValue[] {
    if (depth >= this.#limits.maxDepth) throw NOT_BLOCK;
    this.#search?.collection();
    const items: JsonValue[] = [];
    while (this.#column === column && this.#isItem) {
      const isOnPath = this.#search?.enter(depth - 1, items.length);
      this.#at += 2;
      if (match(KEY, this.#text, this.#at) === null) items.push(this.#scalar(column));
      else {
        this.#column = column + 2;
        items.push(this.#mapping(this.#column, depth + 1));
      }
      if (isOnPath) this.#search?.leave();
    }
    if (this.#column > column) throw NOT_BLOCK;
    return items;
  }

  /** A scalar or an empty collection on the rest of a line. `column` is that of its key or dash. */
  #scalar(column: number): JsonValue {
    const text = this.#text;
    const start = this.#at;
    switch (text[start]) {
      case '"':
        return this.#quoted();
      case '|':
        return this.#literal(column);
      case '[':
        if (text[start + 1] !== ']') throw NOT_BLOCK;
        return this.#endScalar(2, []);
      case '{':
        if (text[start + 1] !== '}') throw NOT_BLOCK;
        return this.#endScalar(2, {});
      default:
    }
    const plain = (match(PLAIN, text, start) ?? match(HEX, text, start))?.[0].trimEnd();
    if (plain === undefined) {
      const number = match(NUMBER, text, start)?.[0];
      if (number === undefined || checkPlainScalar(number) !== undefined) throw NOT_BLOCK;
      return this.#endScalar(number.length, Number(number));
    }
    const word = WORDS.get(plain);
    if (word !== undefined) return this.#endScalar(plain.length, word);
    const isMapping = plain.includes(': ') || plain.endsWith(':');
    if (isMapping || !isPlainString(plain)) throw NOT_BLOCK;
    return this.#endScalar(plain.length, plain);
  }

  #endScalar<Value extends JsonValue>(length: number, value: Value): Value {
    this.#search?.scalar(this.#at, this.#at + length);
    this.#at += length;
    this.#endLine();
    this.#startContent();
    return value;
  }

  #quoted(): string {
    const text = this.#text;
    const start = this.#at;
    let end = start + 1;
    let isEscaped = false;
    for (; text.charCodeAt(end) !== QUOTE; end++) {
      const code = text.charCodeAt(end);
      if (code === LINE_FEED || Number.isNaN(code)) throw NOT_BLOCK;
      if (code !== BACKSLASH) continue;
      isEscaped = true;
      const found = match(ESCAPE, text, end);
      if (found === null) throw NOT_BLOCK;
      end += found[0].length - 1;
    }
    const value = isEscaped ? (JSON.parse(text.slice(start, end + 1)) as string) : text.slice(start + 1, end);
    return this.#endScalar(end + 1 - start, value);
  }

  /** A literal block without empty lines at its start, and without lines of spaces in it or right after it. */
  #literal(column: number): string {
    const text = this.#text;
    const strips = text[this.#at + 1] === '-';
    this.#at += strips ? 2 : 1;
    this.#endLine();
    this.#startLine();
    const indent = this.#column;
    const lines: string[] = [];
    if (indent <= column) throw NOT_BLOCK;
    while (this.#column >= indent) {
      const end = text.indexOf('\n', this.#at);
      if (end <= this.#at) throw NOT_BLOCK;
      lines.push(text.slice(this.#at - this.#column + indent, end));
      this.#at = end + 1;
      const next = this.#at;
      while (text.charCodeAt(this.#at) === LINE_FEED) this.#at++;
      const empty = this.#at - next;
      this.#startLine();
      // Empty lines at the end are not content. Others are one string, since a file can have millions.
      if (empty > 0 && this.#column >= indent) lines.push('\n'.repeat(empty - 1));
    }
    // A line of spaces can be followed by more content.
    if (this.#column > 0 && text.charCodeAt(this.#at) === LINE_FEED) throw NOT_BLOCK;
    this.#skipLines();
    return lines.join('\n') + (strips ? '' : '\n');
  }
}

function isPlainString(text: string): boolean {
  return !isPlainNonString(text) && checkPlainScalar(text) === undefined;
}

/** Matches a sticky expression at an offset. */
function match(expression: RegExp, text: string, at: number): RegExpExecArray | null {
  expression.lastIndex = at;
  return expression.exec(text);
}
