import { fromByteString } from '../builtins/byte-string.js';
import { encodeRune, runeAt, runeWidth } from '../text/utf8.js';
import { Dict } from '../values/dict.js';
import { StarlarkFloat } from '../values/float.js';
import { normalizeInt } from '../values/integer.js';
import { List } from '../values/list.js';
import type { Thread } from '../values/thread.js';
import { typeName, type Value } from '../values/value.js';
import { MAX_JSON_DEPTH } from './json-encode.js';

/** Digits of an int: reading takes time that grows with the square. */
const MAX_DIGITS = 100_000;
/** Bytes that a list element or a dict entry takes. */
const ENTRY_BYTES = 64;

export class JsonSyntaxError extends Error {
  constructor(
    message: string,
    /** In bytes. */
    readonly offset: number,
  ) {
    super(message);
  }
}

/** Parses JSON, a byte string: objects are dicts, numbers with point or exponent floats. */
export function decodeJson(bytes: string, thread: Thread): Value {
  return new JsonDecoder(bytes, thread).decode();
}

class JsonDecoder {
  private index = 0;
  private depth = 0;

  constructor(
    private readonly bytes: string,
    private readonly thread: Thread,
  ) {}

  decode(): Value {
    const value = this.value();
    this.skipSpace();
    if (this.index < this.bytes.length) {
      throw this.error(`unexpected character ${this.quoted()} after value`);
    }
    return value;
  }

  private value(): Value {
    this.thread.step(1);
    const char = this.next();
    switch (char) {
      case '"':
        return this.string();
      case '[':
        return this.nested(() => this.array());
      case '{':
        return this.nested(() => this.object());
      case 'n':
        return this.keyword('null', null);
      case 't':
        return this.keyword('true', true);
      case 'f':
        return this.keyword('false', false);
      default:
        if (/[-0-9]/.test(char)) return this.number();
        throw this.error(`unexpected character ${this.quoted()}`);
    }
  }

  private nested(read: () => Value): Value {
    if (++this.depth > MAX_JSON_DEPTH) throw this.error(`nested too deeply: the limit is ${MAX_JSON_DEPTH}`);
    const value = read();
    this.depth--;
    return value;
  }

  private keyword(text: string, value: Value): Value {
    if (!this.bytes.startsWith(text, this.index)) throw this.error(`unexpected character ${this.quoted()}`);
    this.index += text.length;
    return value;
  }

  private array(): List {
    const items: Value[] = [];
    this.index++;
    if (this.next() !== ']') {
      for (;;) {
        this.thread.allocate(ENTRY_BYTES);
        items.push(this.value());
        const char = this.next();
        if (char === ']') break;
        if (char !== ',') throw this.error(`got ${this.quoted()}, want ',' or ']'`);
        this.index++;
      }
    }
    this.index++;
    return new List(items);
  }

  private object(): Dict {
    const dict = new Dict();
    this.index++;
    if (this.next() !== '}') {
      for (;;) {
        const key = this.value();
        if (typeof key !== 'string') throw this.error(`got ${typeName(key)} for object key, want string`);
        if (this.next() !== ':') throw this.error(`after object key, got ${this.quoted()}, want ':' `);
        this.index++;
        this.thread.allocate(ENTRY_BYTES);
        dict.set(key, this.value());
        const char = this.next();
        if (char === '}') break;
        if (char !== ',') throw this.error(`in object, got ${this.quoted()}, want ',' or '}'`);
        this.index++;
      }
    }
    this.index++;
    return dict;
  }

  private number(): Value {
    const literal = /-?[0-9.eE+-]*/y;
    literal.lastIndex = this.index;
    const text = literal.exec(this.bytes)?.[0] ?? '';
    this.index += text.length;
    const digits = text.startsWith('-') ? text.slice(1) : text;
    if (digits === '' || /^0[0-9]/.test(digits)) throw this.error(`invalid number: ${text}`);
    if (/^[0-9]+$/.test(digits)) {
      if (digits.length > MAX_DIGITS) throw this.error(`invalid number: more than ${MAX_DIGITS} digits`);
      this.thread.step(digits.length ** 2 / 10_000);
      return digits.length < 16 ? Number(text) + 0 : normalizeInt(BigInt(text));
    }
    if (text.length > MAX_DIGITS) throw this.error(`invalid number: more than ${MAX_DIGITS} characters`);
    const value = Number(text);
    const isNumber = /^(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/.test(digits);
    if (!isNumber || !Number.isFinite(value)) throw this.error(`invalid number: ${text}`);
    return new StarlarkFloat(value);
  }

  private string(): string {
    const start = this.index;
    let end = start + 1;
    for (; ; end++) {
      if (end >= this.bytes.length) throw this.error('unclosed string literal');
      const char = this.bytes[end];
      if (char === '"') break;
      if (char === '\\') end++;
    }
    this.index = end + 1;
    const content = this.bytes.slice(start + 1, end);
    this.thread.allocate(content.length);
    return /[\\\x80-\xff]/.test(content) ? fromByteString(this.unescape(content)) : content;
  }

  private unescape(content: string): string {
    const parts: string[] = [];
    for (let index = 0; index < content.length; ) {
      const char = content[index] as string;
      if (char < ' ') throw this.error(`invalid character ${quoteChar(char)} in string literal`);
      if (char !== '\\') {
        parts.push(encodeRune(runeAt(content, index)));
        index += runeWidth(content, index);
        continue;
      }
      const form = /\\(?:(["\\/bfnrt])|u([0-9a-fA-F]{4}))/y;
      form.lastIndex = index;
      const found = form.exec(content);
      if (found === null) throw this.error(`invalid escape sequence in string literal`);
      index += found[0].length;
      if (found[1] !== undefined) {
        parts.push(SHORT[found[1]] ?? found[1]);
        continue;
      }
      let rune = Number.parseInt(found[2] as string, 16);
      const low = /\\u(d[c-f][0-9a-f]{2})/iy;
      low.lastIndex = index;
      const second = rune >= 0xd800 && rune < 0xdc00 ? low.exec(content) : null;
      if (second !== null) {
        rune = 0x10000 + ((rune - 0xd800) << 10) + (Number.parseInt(second[1] as string, 16) - 0xdc00);
        index += 6;
      }
      parts.push(encodeRune(rune));
    }
    return parts.join('');
  }

  private skipSpace(): void {
    const space = /[ \t\n\r]*/y;
    space.lastIndex = this.index;
    space.test(this.bytes);
    this.index = space.lastIndex;
  }

  /** Skips space and returns the character behind it. */
  private next(): string {
    const char = this.bytes[this.index];
    if (char !== undefined && char > ' ') return char;
    this.skipSpace();
    if (this.index >= this.bytes.length) throw this.error('unexpected end of file');
    return this.bytes[this.index] as string;
  }

  private quoted(): string {
    return quoteChar(this.bytes[this.index] as string);
  }

  private error(message: string): JsonSyntaxError {
    return new JsonSyntaxError(message, this.index);
  }
}

const SHORT: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/** Returns a byte as a character in single quotes. */
export function quoteChar(char: string): string {
  const code = char.charCodeAt(0);
  if (char === "'" || char === '\\') return `'\\${char}'`;
  if (code >= 0x20 && code < 0x7f) return `'${char}'`;
  const short = Object.entries(SHORT).find(([, value]) => value === char)?.[0];
  if (short !== undefined) return `'\\${short}'`;
  if (code < 0x80) return `'\\x${code.toString(16).padStart(2, '0')}'`;
  return code >= 0xa1 && code !== 0xad
    ? `'${String.fromCharCode(code)}'`
    : `'\\u${code.toString(16).padStart(4, '0')}'`;
}
