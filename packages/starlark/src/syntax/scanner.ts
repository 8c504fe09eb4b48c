import { type Int, normalizeInt } from '../values/integer.js';
import { encodeString, stringFromJs } from '../values/string.js';
import { unescapeLiteral } from './scan-string.js';
import type { Source } from './source.js';
import { StarlarkSyntaxError } from './syntax-error.js';
import { PUNCTUATION, type Token, type TokenKind, wordKind } from './tokens.js';

const MAX_BRACKETS = 1000;
const WORD = /[\p{L}_][\p{L}_0-9]*/uy;
const STRING_START = /(r?b?)("""|'''|"|')/y;
const PUNCTUATION_BY_LENGTH = [3, 2, 1].map(
  (length) => [length, new Set<string>(PUNCTUATION.filter((text) => text.length === length))] as const,
);

/** Splits a program into tokens. Line ends count only outside of brackets. */
export class Scanner {
  #offset = 0;
  /** Open brackets. */
  #depth = 0;
  #lineStart = true;
  readonly #indents = [0];
  /** Indents (positive) or outdents (negative) not yet returned. */
  #pending = 0;
  readonly #text: string;

  constructor(readonly source: Source) {
    this.#text = source.text;
    if (source.text.startsWith('\ufeff')) this.#offset = 1;
  }

  /** Throws a syntax error at an offset. */
  fail(offset: number, message: string): never {
    throw new StarlarkSyntaxError([{ message, position: this.source.positionAt(offset) }]);
  }

  next(): Token {
    for (;;) {
      const blank = this.#lineStart ? this.#readIndentation() : false;
      const dent = this.#nextDent();
      if (dent !== undefined) return dent;
      this.#skipSpaces();
      const character = this.#text[this.#offset];
      if (character === undefined) return this.#atEnd();
      if (character === '\n') {
        this.#lineStart = true;
        this.#offset++;
        if (this.#depth === 0 && !blank) return this.#token('newline', this.#offset - 1);
        if (this.#depth > 0) this.#lineStart = false;
        continue;
      }
      if (character === '\\') {
        this.#continueLine();
        continue;
      }
      return this.#scanToken(character);
    }
  }

  #token(kind: TokenKind, start: number, value?: Token['value']): Token {
    const token: Token = { kind, start, end: this.#offset };
    if (value !== undefined) token.value = value;
    return token;
  }

  /** Skips spaces, carriage returns before line ends, and a comment. */
  #skipSpaces(): void {
    const text = this.#text;
    for (;;) {
      const character = text[this.#offset];
      if (character === ' ' || character === '\t') this.#offset++;
      else if (character === '\r' && text[this.#offset + 1] === '\n') this.#offset++;
      else break;
    }
    if (text[this.#offset] !== '#') return;
    const end = text.indexOf('\n', this.#offset);
    this.#offset = end < 0 ? text.length : end;
  }

  /** Reads the indentation of a line. Returns whether the line is blank; a blank line changes nothing. */
  #readIndentation(): boolean {
    const text = this.#text;
    let column = 0;
    let i = this.#offset;
    for (; text[i] === ' ' || text[i] === '\t'; i++) {
      column = text[i] === ' ' ? column + 1 : column + 8 - (column % 8);
    }
    if (text[i] === '\r' && text[i + 1] === '\n') i++;
    const character = text[i];
    if (character === undefined || character === '\n' || character === '#') return true;
    this.#lineStart = false;
    this.#offset = i;
    if (this.#depth > 0) return false;
    const current = this.#indents.at(-1)!;
    if (column > current) {
      this.#indents.push(column);
      this.#pending = 1;
    }
    while (column < this.#indents.at(-1)!) {
      this.#indents.pop();
      this.#pending--;
      if (column > this.#indents.at(-1)!) {
        this.fail(i, 'unindent does not match any outer indentation level');
      }
    }
    return false;
  }

  #nextDent(): Token | undefined {
    if (this.#pending === 0) return undefined;
    const indent = this.#pending > 0;
    this.#pending += indent ? -1 : 1;
    return this.#token(indent ? 'indent' : 'outdent', this.#offset);
  }

  #atEnd(): Token {
    if (this.#indents.length === 1) return this.#token('end of file', this.#offset);
    if (!this.#lineStart) {
      this.#lineStart = true;
      return this.#token('newline', this.#offset);
    }
    this.#indents.pop();
    return this.#token('outdent', this.#offset);
  }

  #continueLine(): void {
    const rest = /\\\r?\n/y;
    rest.lastIndex = this.#offset;
    if (!rest.test(this.#text)) this.fail(this.#offset, 'stray backslash in program');
    this.#offset = rest.lastIndex;
  }

  #scanToken(character: string): Token {
    const start = this.#offset;
    if (character === '"' || character === "'" || character === 'r' || character === 'b') {
      STRING_START.lastIndex = start;
      const match = STRING_START.exec(this.#text);
      if (match !== null) return this.#scanString(start, match[1]!, match[2]!);
    }
    WORD.lastIndex = start;
    const word = WORD.exec(this.#text)?.[0];
    if (word !== undefined) {
      this.#offset += word.length;
      const kind = wordKind(word);
      const hasValue = kind === 'identifier' || kind === 'reserved word';
      return this.#token(kind, start, hasValue ? stringFromJs(word) : undefined);
    }
    if (/[0-9]/.test(character) || (character === '.' && /[0-9]/.test(this.#text[start + 1] ?? ''))) {
      const number = scanNumber(this.#text, start);
      if (number.kind === 'invalid') this.fail(start, number.message);
      this.#offset += number.length;
      return this.#token(number.kind, start, number.value);
    }
    return this.#scanPunctuation(start);
  }

  #scanPunctuation(start: number): Token {
    for (const [length, texts] of PUNCTUATION_BY_LENGTH) {
      const text = this.#text.slice(start, start + length);
      if (!texts.has(text)) continue;
      if (text === '(' || text === '[' || text === '{') {
        if (++this.#depth > MAX_BRACKETS) this.fail(start, 'excessive nesting');
      } else if (text === ')' || text === ']' || text === '}') {
        if (this.#depth === 0) this.fail(start, `unexpected '${text}'`);
        this.#depth--;
      }
      this.#offset += length;
      return this.#token(text as TokenKind, start);
    }
    const character = String.fromCodePoint(this.#text.codePointAt(start)!);
    return this.fail(start, `unexpected input character ${quoteCharacter(character)}`);
  }

  #scanString(start: number, prefix: string, quote: string): Token {
    const text = this.#text;
    const contentStart = start + prefix.length + quote.length;
    let i = contentStart;
    while (!text.startsWith(quote, i)) {
      if (text[i] === '\\') i++;
      else if (text[i] === '\n' && quote.length === 1) this.fail(start, 'unexpected newline in string');
      if (i >= text.length) this.fail(start, 'unexpected EOF in string');
      i++;
    }
    const raw = text.slice(contentStart, i);
    this.#offset = i + quote.length;
    const isBytes = prefix.includes('b');
    let value: string;
    if (prefix.includes('r')) {
      value = stringFromJs(raw.replace(/\r\n?/g, '\n'));
    } else {
      const literal = unescapeLiteral(raw, isBytes);
      if ('message' in literal) this.fail(start, literal.message);
      value = literal.value;
    }
    return isBytes
      ? this.#token('bytes', start, encodeString(value).slice())
      : this.#token('string', start, value);
  }
}

function quoteCharacter(character: string): string {
  const code = character.codePointAt(0)!;
  return code < 0x20 || code === 0x7f ? `'\\x${code.toString(16).padStart(2, '0')}'` : `'${character}'`;
}

/** A number literal, or why it is not one. `length` is in characters. */
type NumberLiteral =
  | { kind: 'int'; value: Int; length: number }
  | { kind: 'float'; value: number; length: number }
  | { kind: 'invalid'; message: string };

const NUMBER = /0[xX][0-9a-fA-F]*|0[oO][0-7]*|0[bB][01]*|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d*)?/y;
/** Longer literals take long to convert. */
const MAX_DIGITS = 100_000;

/** Reads the number literal at `offset`, which starts with a digit, or a dot and a digit. */
function scanNumber(text: string, offset: number): NumberLiteral {
  NUMBER.lastIndex = offset;
  const literal = NUMBER.exec(text)![0];
  const { length } = literal;
  if (length > MAX_DIGITS) return { kind: 'invalid', message: 'int literal too long' };
  const base = /^0[xob]/i.exec(literal)?.[0].toLowerCase();
  if (base !== undefined) {
    if (length === 2) {
      const name = { '0x': 'hex', '0o': 'octal', '0b': 'binary' }[base]!;
      return { kind: 'invalid', message: `invalid ${name} literal` };
    }
    return { kind: 'int', value: normalizeInt(BigInt(literal)), length };
  }
  if (/[.eE]/.test(literal)) {
    const value = Number(literal);
    return Number.isFinite(value)
      ? { kind: 'float', value, length }
      : { kind: 'invalid', message: 'invalid float literal' };
  }
  if (/^0[0-7]*[1-7]/.test(literal)) {
    return { kind: 'invalid', message: `obsolete form of octal literal; use 0o${literal.slice(1)}` };
  }
  if (/^0+[1-9]/.test(literal)) return { kind: 'invalid', message: 'invalid int literal' };
  return { kind: 'int', value: normalizeInt(BigInt(literal)), length };
}
