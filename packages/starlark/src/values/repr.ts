import { EvaluationError } from './evaluation-error.js';
import { decodeString } from './string.js';
import type { Thread } from './thread.js';
import { HeapValue, type ReprWriter, type Value } from './value.js';

/** Deeper values are errors, far below the depth at which JavaScript's own stack ends. */
export const MAX_REPR_DEPTH = 500;

/** The memory of longer strings is counted before they are quoted. */
const LONG_STRING = 256;
const MAX_PARTS = 4096;
const PLAIN = /^[ !#-[\]-~]*$/;
const NOT_PLAIN = /[^ !#-[\]-~]/gu;
const QUOTED_AT_ONCE = 65_536;
const PRINTABLE = /[\p{L}\p{M}\p{N}\p{P}\p{S}]/u;
const SHORT_ESCAPES: ReadonlyMap<string, string> = new Map([
  ['"', '\\"'],
  ['\\', '\\\\'],
  ['\x07', '\\a'],
  ['\b', '\\b'],
  ['\f', '\\f'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  ['\v', '\\v'],
]);

/** Writes the text of values: nested, shared and cyclic ones too. */
class TextWriter implements ReprWriter {
  #text = '';
  /** Parts that are not joined yet: a long chain of joined strings takes much memory. */
  #parts: string[] = [];
  #depth = 0;
  readonly #path = new Set<HeapValue>();

  constructor(readonly thread: Thread | undefined) {}

  get text(): string {
    this.#text += this.#parts.join('');
    this.#parts = [];
    return this.#text;
  }

  write(text: string): void {
    this.thread?.allocate(text.length + 8);
    if (this.#parts.push(text) < MAX_PARTS) return;
    this.#text += this.#parts.join('');
    this.#parts = [];
  }

  writeValue(value: Value): void {
    if (value instanceof HeapValue) {
      if (++this.#depth > MAX_REPR_DEPTH) throw new EvaluationError('value is nested too deeply to print');
      this.thread?.step(1);
      value.writeRepr(this);
      this.#depth--;
    } else if (typeof value === 'string') {
      if (value.length > LONG_STRING) {
        this.thread?.allocate(value.length);
        this.thread?.step(value.length >> 4);
      }
      this.write(quoteString(value));
    } else if (value === null) {
      this.write('None');
    } else if (typeof value === 'boolean') {
      this.write(value ? 'True' : 'False');
    } else {
      this.write(String(value));
    }
  }

  /** Runs `write`, but writes `...` if the value contains itself and is already being written. */
  writeInside(value: HeapValue, write: () => void): void {
    if (this.#path.has(value)) {
      this.write('...');
      return;
    }
    this.#path.add(value);
    write();
    this.#path.delete(value);
  }

  /** Writes values separated by commas. */
  writeValues(values: Iterable<Value>): void {
    let first = true;
    for (const value of values) {
      if (!first) this.write(', ');
      first = false;
      this.writeValue(value);
    }
  }
}

/** Returns `repr(value)`. */
export function repr(value: Value, thread?: Thread): string {
  if (typeof value === 'string') {
    thread?.allocate(value.length + 2);
    thread?.step(value.length >> 4);
    return quoteString(value);
  }
  const writer = new TextWriter(thread);
  writer.writeValue(value);
  return writer.text;
}

/** Returns `str(value)`: a string itself, else its `repr`. Bytes are decoded as UTF-8. */
export function str(value: Value, thread?: Thread): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  return repr(value, thread);
}

/** Returns a literal of a string, in double quotes. Bytes that are not UTF-8 are written as `\xff`. */
export function quoteString(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`;
  const parts = ['"'];
  // The engine takes much memory to replace many characters of a long string at once.
  for (let start = 0; start < text.length; ) {
    let end = Math.min(start + QUOTED_AT_ONCE, text.length);
    if (/^[\ud800-\udbff]$/.test(text[end - 1]!)) end++;
    parts.push(text.slice(start, end).replace(NOT_PLAIN, escapeCharacter));
    start = end;
  }
  parts.push('"');
  return parts.join('');
}

function escapeCharacter(character: string): string {
  const code = character.codePointAt(0)!;
  if (code >= 0xdc80 && code <= 0xdcff) return `\\x${hex(code & 0xff, 2)}`;
  if (code > 0x7f && PRINTABLE.test(character)) return character;
  return SHORT_ESCAPES.get(character) ?? escapeCode(code);
}

function escapeCode(code: number): string {
  if (code < 0x80) return `\\x${hex(code, 2)}`;
  return code < 0x10000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`;
}

const hex = (value: number, width: number) => value.toString(16).padStart(width, '0');

/** Returns a literal of bytes: `b"a\xff"`. */
export function quoteBytes(bytes: Uint8Array): string {
  return `b${quoteString(decodeString(bytes))}`;
}
