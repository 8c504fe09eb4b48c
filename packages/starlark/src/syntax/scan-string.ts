import { decodeString, encodeString, stringFromJs } from '../values/string.js';

/** The value of a string or bytes literal, or what is wrong with an escape at `offset`. */
export type StringLiteralValue = { value: string } | { message: string; offset: number };

const SIMPLE: ReadonlyMap<string, string> = new Map([
  ['a', '\x07'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['v', '\v'],
  ['\\', '\\'],
  ["'", "'"],
  ['"', '"'],
  ['\n', ''],
]);

/**
 * Replaces the escapes of a literal. In bytes, the escapes for one byte are kept as escaped bytes (see
 * `values/string.ts`), so that the caller encodes the result.
 */
export function unescapeLiteral(raw: string, isBytes: boolean): StringLiteralValue {
  const text = raw.replace(/\r\n?/g, '\n');
  if (!text.includes('\\')) return { value: stringFromJs(text) };
  let value = '';
  let copied = 0;
  for (let i = text.indexOf('\\'); i >= 0; i = text.indexOf('\\', copied)) {
    value += stringFromJs(text.slice(copied, i));
    const sequence = readEscape(text, i, isBytes);
    if ('message' in sequence) return { message: sequence.message, offset: i };
    value += sequence.value;
    copied = i + sequence.length;
  }
  value += stringFromJs(text.slice(copied));
  return { value: isBytes ? value : decodeString(encodeString(value)) };
}

type Escape = { value: string; length: number } | { message: string };

function readEscape(text: string, start: number, isBytes: boolean): Escape {
  const character = text[start + 1];
  if (character === undefined) return { message: 'truncated escape sequence \\' };
  const simple = SIMPLE.get(character);
  if (simple !== undefined) return { value: simple, length: 2 };
  if (character >= '0' && character <= '7') {
    const digits = /^[0-7]{1,3}/.exec(text.slice(start + 1, start + 4))![0];
    const code = Number.parseInt(digits, 8);
    if (!isBytes && code > 127) {
      return { message: `non-ASCII octal escape \\${code.toString(8)} ${useUnicode(code)}` };
    }
    if (code > 255) return { message: `invalid escape sequence \\${digits}` };
    return { value: byte(code), length: 1 + digits.length };
  }
  const width = { x: 2, u: 4, U: 8 }[character];
  if (width === undefined) {
    return { message: `invalid escape sequence \\${String.fromCodePoint(text.codePointAt(start + 1)!)}` };
  }
  const sequence = text.slice(start, start + 2 + width);
  if (sequence.length < 2 + width) return { message: `truncated escape sequence ${sequence}` };
  const digits = sequence.slice(2);
  if (!/^[0-9a-fA-F]+$/.test(digits)) return { message: `invalid escape sequence ${sequence}` };
  return codeEscape(sequence, Number.parseInt(digits, 16), isBytes);
}

function codeEscape(sequence: string, code: number, isBytes: boolean): Escape {
  const { length } = sequence;
  if (length === 4) {
    if (!isBytes && code > 127) return { message: `non-ASCII hex escape ${sequence} ${useUnicode(code)}` };
    return { value: byte(code), length };
  }
  if (code > 0x10ffff) return { message: `code point out of range: ${sequence} (max \\U0010ffff)` };
  if (code >= 0xd800 && code < 0xe000) {
    return { message: `invalid Unicode code point U+${code.toString(16).toUpperCase()}` };
  }
  return { value: String.fromCodePoint(code), length };
}

const byte = (code: number) => String.fromCharCode(code < 0x80 ? code : 0xdc00 | code);

function useUnicode(code: number): string {
  const hex = code.toString(16).toUpperCase().padStart(4, '0');
  return `(use \\u${hex} for the UTF-8 encoding of U+${hex})`;
}
