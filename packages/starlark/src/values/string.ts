/**
 * Starlark strings are sequences of bytes, by convention UTF-8: `len("é")` is 2. A string is stored as a JavaScript
 * string; a byte that is not part of valid UTF-8 is stored as the lone surrogate U+DC00 + byte. Each sequence of bytes
 * has exactly one such string, so equality and Map keys work directly. Strings of ASCII alone, nearly all, need no
 * conversion.
 */

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const NON_ASCII = /[^\x00-\x7f]/;
const ESCAPED_BYTE = /[\udc80-\udcff]/;
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** Long strings are remembered, so that a loop over indexes does not scan or encode the string each time. */
let lastAscii = '';
let lastEncoded = '';
let lastBytes: Uint8Array = new Uint8Array();

/** Reports whether each character is one byte. */
export function isAscii(text: string): boolean {
  if (text.length < 16) {
    for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) return false;
    return true;
  }
  if (text === lastAscii) return true;
  if (NON_ASCII.test(text)) return false;
  if (text.length > 64) lastAscii = text;
  return true;
}

/** Returns the steps that reading a string by index takes: few where it is remembered. */
export function readingSteps(text: string): number {
  if (text.length <= 1024) return 0;
  return text === lastAscii || text === lastEncoded ? text.length >> 14 : text.length >> 6;
}

/** Returns the bytes of a string. The caller must not change them. */
export function encodeString(text: string): Uint8Array {
  if (text === lastEncoded) return lastBytes;
  const bytes = ESCAPED_BYTE.test(text) ? encodeEscaped(text) : encoder.encode(text);
  if (text.length > 16) {
    lastEncoded = text;
    lastBytes = bytes;
  }
  return bytes;
}

function encodeEscaped(text: string): Uint8Array {
  const parts: Uint8Array[] = [];
  let size = 0;
  const add = (part: Uint8Array) => {
    parts.push(part);
    size += part.length;
  };
  let start = 0;
  for (const match of text.matchAll(LONE_SURROGATE)) {
    if (match.index > start) add(encoder.encode(text.slice(start, match.index)));
    add(Uint8Array.of(match[0].charCodeAt(0) & 0xff));
    start = match.index + 1;
  }
  if (start < text.length) add(encoder.encode(text.slice(start)));
  const bytes = new Uint8Array(size);
  let offset = 0;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
}

/** Returns the string of any bytes. */
export function decodeString(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    return decodeEscaped(bytes);
  }
}

/** Returns the length of the UTF-8 sequence at `i`, or 0 if it is not valid. */
function sequenceLength(bytes: Uint8Array, i: number): number {
  const first = bytes[i]!;
  const second = bytes[i + 1] ?? 0;
  const continues = (at: number) => ((bytes[at] ?? 0) & 0xc0) === 0x80;
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4 || !continues(i + 1)) return 0;
  if (first < 0xe0) return 2;
  if ((first === 0xe0 && second < 0xa0) || (first === 0xed && second > 0x9f)) return 0;
  if (!continues(i + 2)) return 0;
  if (first < 0xf0) return 3;
  if ((first === 0xf0 && second < 0x90) || (first === 0xf4 && second > 0x8f)) return 0;
  return continues(i + 3) ? 4 : 0;
}

function decodeEscaped(bytes: Uint8Array): string {
  const parts: string[] = [];
  let start = 0;
  let i = 0;
  const flush = () => {
    if (i > start) parts.push(decoder.decode(bytes.subarray(start, i)));
  };
  while (i < bytes.length) {
    const length = sequenceLength(bytes, i);
    if (length > 0) {
      i += length;
      continue;
    }
    flush();
    parts.push(String.fromCharCode(0xdc00 | bytes[i]!));
    i++;
    start = i;
  }
  flush();
  return parts.join('');
}

/** Returns the number of bytes. */
export function stringLength(text: string): number {
  return isAscii(text) ? text.length : encodeString(text).length;
}

/** Returns the one-byte string at a byte index in range. */
export function stringByteAt(text: string, index: number): string {
  if (isAscii(text)) return text[index]!;
  return byteString(encodeString(text)[index]!);
}

/** Returns the string of one byte. */
export function byteString(byte: number): string {
  return String.fromCharCode(byte < 0x80 ? byte : 0xdc00 | byte);
}

/** Returns the bytes from `start` to `end`, both in range. */
export function sliceString(text: string, start: number, end: number): string {
  if (isAscii(text)) return text.slice(start, end);
  return decodeString(encodeString(text).subarray(start, end));
}

/** Returns `x + y`: bytes at the seam may form a character. */
export function concatStrings(x: string, y: string): string {
  const joined = x + y;
  if (x.length === 0 || y.length === 0) return joined;
  const next = y.charCodeAt(0);
  if (next < 0xdc80 || next > 0xdcff) return joined;
  const last = x.charCodeAt(x.length - 1);
  return last < 0xdc80 || last > 0xdcff ? joined : normalizeString(joined);
}

/** Returns the only representation of a string that was joined from parts. */
export function normalizeString(text: string): string {
  return ESCAPED_BYTE.test(text) ? decodeString(encodeEscaped(text)) : text;
}

/** Returns the Starlark string of a JavaScript string: lone surrogates become U+FFFD. */
export function stringFromJs(text: string): string {
  return isAscii(text) ? text : text.replace(LONE_SURROGATE, '\ufffd');
}

/** Returns the string for JavaScript: bytes that are not UTF-8 become U+FFFD. */
export function stringToJs(text: string): string {
  return isAscii(text) ? text : text.replace(LONE_SURROGATE, '\ufffd');
}

/** Orders strings by their bytes. */
export function compareStrings(x: string, y: string): number {
  if (x === y) return 0;
  const length = Math.min(x.length, y.length);
  for (let i = 0; i < length; i++) {
    const a = x.charCodeAt(i);
    const b = y.charCodeAt(i);
    if (a === b) continue;
    return a < 0xd800 || b < 0xd800 ? a - b : compareBytes(encodeString(x), encodeString(y));
  }
  return x.length - y.length;
}

/** Orders sequences of bytes. */
export function compareBytes(x: Uint8Array, y: Uint8Array): number {
  const length = Math.min(x.length, y.length);
  for (let i = 0; i < length; i++) if (x[i] !== y[i]) return x[i]! - y[i]!;
  return x.length - y.length;
}
