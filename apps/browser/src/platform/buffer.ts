/**
 * What the packages use of Node.js, for browsers. The bundle puts these modules in the place of the builtin ones.
 *
 * @module
 */

type Encoding = 'utf8' | 'latin1' | 'base64' | 'base64url';

/** Bytes that are also text. */
class TextBytes extends Uint8Array<ArrayBuffer> {
  equals(other: Uint8Array): boolean {
    return compare(this, other) === 0;
  }

  override toString(encoding: Encoding = 'utf8'): string {
    if (encoding === 'utf8') return new TextDecoder('utf-8', { ignoreBOM: true }).decode(this);
    const text = latin1(this);
    if (encoding === 'latin1') return text;
    const digits = btoa(text);
    return encoding === 'base64'
      ? digits
      : digits.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
  }
}

/** The part of the global `Buffer` that code in a browser needs. */
export const Buffer = {
  from,
  compare,
  byteLength: (text: string) => new TextEncoder().encode(text).byteLength,
};

function from(
  value: string | Uint8Array | ArrayBuffer,
  encoding?: Encoding | number,
  length?: number,
): TextBytes {
  if (typeof value === 'string') return decode(value, encoding as Encoding | undefined);
  if (value instanceof ArrayBuffer) return new TextBytes(value, encoding as number | undefined, length);
  return copyOf(value);
}

function compare(a: Uint8Array, b: Uint8Array): number {
  const end = Math.min(a.length, b.length);
  for (let at = 0; at < end; at++) if (a[at] !== b[at]) return a[at]! < b[at]! ? -1 : 1;
  return Math.sign(a.length - b.length);
}

function copyOf(bytes: Uint8Array): TextBytes {
  const copy = new TextBytes(new ArrayBuffer(bytes.length));
  copy.set(bytes);
  return copy;
}

/** Characters of one call: an engine limits the arguments. */
const PIECE = 8_192;

function latin1(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += PIECE)
    text += String.fromCharCode(...bytes.subarray(at, at + PIECE));
  return text;
}

function decode(text: string, encoding: Encoding = 'utf8'): TextBytes {
  if (encoding === 'utf8') return copyOf(new TextEncoder().encode(text));
  const bytes = encoding === 'latin1' ? text : atob(base64Digits(text));
  return copyOf(Uint8Array.from(bytes, (character) => character.charCodeAt(0)));
}

/** `atob` accepts only the digits of base64, and what Node.js ignores is left out. */
function base64Digits(text: string): string {
  const [digits = ''] = text.replaceAll('-', '+').replaceAll('_', '/').split('=');
  return digits.replace(/[^A-Za-z0-9+/]/g, '');
}
