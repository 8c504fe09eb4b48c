/**
 * Text as bytes and characters: UTF-8, properties of code points, and printed floats.
 *
 * Functions that work on the bytes of a Starlark string take and return byte strings: JavaScript strings with one
 * character, U+0000 to U+00FF, per byte.
 *
 * @module
 */

/** What decoding gives for a byte that is not part of valid UTF-8. */
export const REPLACEMENT = 0xfffd;
export const MAX_CODE_POINT = 0x10ffff;

/** Returns the UTF-8 bytes of a code point; a surrogate, or a number that is not a code point, gives U+FFFD. */
export function encodeRune(rune: number): string {
  if (rune >= 0 && rune < 0x80) return String.fromCharCode(rune);
  if (!(rune >= 0 && rune <= MAX_CODE_POINT) || (rune >= 0xd800 && rune < 0xe000)) return '\xef\xbf\xbd';
  if (rune < 0x800) return String.fromCharCode(0xc0 | (rune >> 6), 0x80 | (rune & 0x3f));
  if (rune < 0x10000) {
    return String.fromCharCode(0xe0 | (rune >> 12), 0x80 | ((rune >> 6) & 0x3f), 0x80 | (rune & 0x3f));
  }
  return String.fromCharCode(
    0xf0 | (rune >> 18),
    0x80 | ((rune >> 12) & 0x3f),
    0x80 | ((rune >> 6) & 0x3f),
    0x80 | (rune & 0x3f),
  );
}

/** Returns the number of bytes of the code point at an index: 1 for a byte that is not part of valid UTF-8. */
export function runeWidth(bytes: string, index: number): 1 | 2 | 3 | 4 {
  const first = bytes.charCodeAt(index);
  if (first < 0xc2 || first > 0xf4) return 1;
  const second = bytes.charCodeAt(index + 1);
  if (first < 0xe0) return isContinuation(second) ? 2 : 1;
  // Overlong forms, surrogates, and numbers above U+10FFFF are not valid (Unicode standard, table 3-7).
  const lowest = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const highest = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  if (!(second >= lowest && second <= highest) || !isContinuation(bytes.charCodeAt(index + 2))) return 1;
  if (first < 0xf0) return 3;
  return isContinuation(bytes.charCodeAt(index + 3)) ? 4 : 1;
}

/** Decodes the code point at an index: U+FFFD for a byte that is not part of valid UTF-8. */
export function runeAt(bytes: string, index: number): number {
  const first = bytes.charCodeAt(index);
  if (first < 0x80) return first;
  const low = (offset: number) => bytes.charCodeAt(index + offset) & 0x3f;
  switch (runeWidth(bytes, index)) {
    case 1:
      return REPLACEMENT;
    case 2:
      return ((first & 0x1f) << 6) | low(1);
    case 3:
      return ((first & 0x0f) << 12) | (low(1) << 6) | low(2);
    case 4:
      return ((first & 0x07) << 18) | (low(1) << 12) | (low(2) << 6) | low(3);
  }
}

/** Returns the width of the code point that ends at an index, which is above 0. */
export function widthBefore(bytes: string, end: number): number {
  for (let width = 2; width <= 4 && width <= end; width++) {
    if (runeWidth(bytes, end - width) === width) return width;
    if (!isContinuation(bytes.charCodeAt(end - width))) break;
  }
  return 1;
}

/** Returns the number of code points. */
export function countRunes(bytes: string): number {
  let count = 0;
  for (let index = 0; index < bytes.length; index += runeWidth(bytes, index)) count++;
  return count;
}

/** Applies a function to each code point. */
export function mapRunes(bytes: string, map: (rune: number, index: number) => number): string {
  const parts: string[] = [];
  for (let index = 0; index < bytes.length; index += runeWidth(bytes, index)) {
    parts.push(encodeRune(map(runeAt(bytes, index), index)));
  }
  return parts.join('');
}

/** Reports whether all code points pass a test, and there is one. */
export function everyRune(bytes: string, test: (rune: number) => boolean): boolean {
  for (let index = 0; index < bytes.length; index += runeWidth(bytes, index)) {
    if (!test(runeAt(bytes, index))) return false;
  }
  return bytes.length > 0;
}

function isContinuation(byte: number): boolean {
  return byte >= 0x80 && byte <= 0xbf;
}
