/** Properties and simple case mappings of code points: one code point gives one, as in Go's package unicode. */

const LETTER = /^\p{L}$/u;
const DIGIT = /^\p{Nd}$/u;
const LOWER = /^\p{Ll}$/u;
const UPPER = /^\p{Lu}$/u;
const TITLE = /^\p{Lt}$/u;

const matches = (pattern: RegExp) => (rune: number) => pattern.test(String.fromCodePoint(rune));

export const isLetter = matches(LETTER);
export const isDigit = matches(DIGIT);
export const isTitle = matches(TITLE);

export function isLower(rune: number): boolean {
  return rune < 0x80 ? rune >= 0x61 && rune <= 0x7a : matches(LOWER)(rune);
}

export function isUpper(rune: number): boolean {
  return rune < 0x80 ? rune >= 0x41 && rune <= 0x5a : matches(UPPER)(rune);
}

/** White space: Unicode's property White_Space. */
export function isSpace(rune: number): boolean {
  if (rune === 0x20 || (rune >= 0x09 && rune <= 0x0d)) return true;
  if (rune < 0x85) return false;
  if (rune === 0x85 || rune === 0xa0 || rune === 0x1680) return true;
  if (rune < 0x2000) return false;
  return (
    rune <= 0x200a ||
    rune === 0x2028 ||
    rune === 0x2029 ||
    rune === 0x202f ||
    rune === 0x205f ||
    rune === 0x3000
  );
}

/** A mapping of JavaScript to more than one code point is not a simple one, with these exceptions. */
export function toUpper(rune: number): number {
  if (rune < 0x80) return rune >= 0x61 && rune <= 0x7a ? rune - 32 : rune;
  return single(String.fromCodePoint(rune).toUpperCase()) ?? greekTitle(rune);
}

export function toLower(rune: number): number {
  if (rune < 0x80) return rune >= 0x41 && rune <= 0x5a ? rune + 32 : rune;
  return rune === 0x130 ? 0x69 : (single(String.fromCodePoint(rune).toLowerCase()) ?? rune);
}

export function toTitle(rune: number): number {
  if (rune >= 0x1c4 && rune <= 0x1cc) return rune - ((rune - 0x1c4) % 3) + 1;
  if (rune >= 0x1f1 && rune <= 0x1f3) return 0x1f2;
  if (rune >= 0x10d0 && rune <= 0x10ff) return rune;
  return toUpper(rune);
}

/** Reports whether a code point has an upper and a lower case form. */
export function isCased(rune: number): boolean {
  if (rune < 0x80) return isLower(rune) || isUpper(rune);
  if (rune === 0x130 || rune === 0x131) return false;
  return rune === 0xdf || toLower(rune) !== rune || toUpper(rune) !== rune;
}

/** Greek letters with iota subscript have a single title case form, and no single upper case form. */
function greekTitle(rune: number): number {
  if (rune >= 0x1f80 && rune <= 0x1faf) return rune | 8;
  return rune === 0x1fb3 || rune === 0x1fc3 || rune === 0x1ff3 ? rune + 9 : rune;
}

function single(text: string): number | undefined {
  const rune = text.codePointAt(0) as number;
  return text.length === (rune > 0xffff ? 2 : 1) ? rune : undefined;
}
