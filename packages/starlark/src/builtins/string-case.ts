import {
  isCased,
  isDigit,
  isLetter,
  isLower,
  isSpace,
  isTitle,
  isUpper,
  toLower,
  toTitle,
  toUpper,
} from '../text/unicode.js';
import { everyRune, mapRunes, runeAt, runeWidth } from '../text/utf8.js';
import type { MethodBody } from '../values/builtin.js';
import { isAscii } from '../values/string.js';
import { checkPositional } from '../values/unpack-arguments.js';
import type { Value } from '../values/value.js';
import { allocateString, fromByteString, readString, toByteString } from './byte-string.js';

type Method = readonly [string, MethodBody<string>];

/** A method without arguments that works on bytes. */
function method(name: string, apply: (bytes: string) => Value): Method {
  return [
    name,
    (thread, text, args, kwargs) => {
      checkPositional(name, args, kwargs, 0, 0);
      readString(thread, text);
      // A code point is handled by itself, which takes longer than one of ASCII.
      if (!isAscii(text)) thread.step(text.length);
      return apply(toByteString(text));
    },
  ];
}

/** A method without arguments that returns a string of about the same length. */
function mapping(name: string, apply: (bytes: string) => string): Method {
  const [, body] = method(name, (bytes) => fromByteString(apply(bytes)));
  return [
    name,
    (thread, text, args, kwargs) => {
      allocateString(thread, text.length * 3);
      return body(thread, text, args, kwargs);
    },
  ];
}

/** Methods that test or change the case of strings. */
export const CASE_METHODS: readonly Method[] = [
  mapping('capitalize', (bytes) =>
    mapRunes(bytes, (rune, index) => (index === 0 ? toTitle(rune) : toLower(rune))),
  ),
  method('isalnum', (bytes) => everyRune(bytes, (rune) => isLetter(rune) || isDigit(rune))),
  method('isalpha', (bytes) => everyRune(bytes, isLetter)),
  method('isdigit', (bytes) => everyRune(bytes, isDigit)),
  method('islower', (bytes) => hasCased(bytes) && lower(bytes) === bytes),
  method('isspace', (bytes) => everyRune(bytes, isSpace)),
  method('istitle', hasTitleCase),
  method('isupper', (bytes) => hasCased(bytes) && upper(bytes) === bytes),
  mapping('lower', lower),
  mapping('title', titleCase),
  mapping('upper', upper),
];

function lower(bytes: string): string {
  return isAscii(bytes) ? bytes.toLowerCase() : mapRunes(bytes, toLower);
}

function upper(bytes: string): string {
  return isAscii(bytes) ? bytes.toUpperCase() : mapRunes(bytes, toUpper);
}

function hasCased(bytes: string): boolean {
  return !everyRune(bytes, (rune) => !isCased(rune)) && bytes !== '';
}

/** A letter that follows one with case is lower case, and others are title case. */
function titleCase(bytes: string): string {
  let followsCased = false;
  return mapRunes(bytes, (rune) => {
    const mapped = followsCased ? toLower(rune) : toTitle(rune);
    followsCased = isCased(mapped);
    return mapped;
  });
}

/** Upper case letters follow letters without case only, and lower case letters those with case only. */
function hasTitleCase(bytes: string): boolean {
  let cased = false;
  let followsCased = false;
  for (let index = 0; index < bytes.length; index += runeWidth(bytes, index)) {
    const rune = runeAt(bytes, index);
    if ((rune < 0x80 && isUpper(rune)) || isTitle(rune)) {
      if (followsCased) return false;
      followsCased = true;
    } else if (isLower(rune)) {
      if (!followsCased) return false;
    } else if (isUpper(rune)) {
      return false;
    } else {
      followsCased = false;
    }
    cased ||= followsCased;
  }
  return cased;
}
