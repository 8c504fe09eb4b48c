import { toLower, toUpper } from '../text/unicode.js';
import type { RuneTest } from './tree.js';

/** Ranges of code points: start and end, both included, in pairs. */
export type Ranges = readonly number[];

const DIGITS: Ranges = [0x30, 0x39];
const SPACES: Ranges = [0x09, 0x0a, 0x0c, 0x0d, 0x20, 0x20];
const WORDS: Ranges = [0x30, 0x39, 0x41, 0x5a, 0x5f, 0x5f, 0x61, 0x7a];

/** The classes `\d`, `\s`, `\w`, which are ASCII only. */
export const PERL_CLASSES: ReadonlyMap<string, Ranges> = new Map([
  ['d', DIGITS],
  ['s', SPACES],
  ['w', WORDS],
]);

/** The classes within brackets, for example `[[:alpha:]]`. */
export const POSIX_CLASSES: ReadonlyMap<string, Ranges> = new Map<string, Ranges>([
  ['alnum', [0x30, 0x39, 0x41, 0x5a, 0x61, 0x7a]],
  ['alpha', [0x41, 0x5a, 0x61, 0x7a]],
  ['ascii', [0x00, 0x7f]],
  ['blank', [0x09, 0x09, 0x20, 0x20]],
  ['cntrl', [0x00, 0x1f, 0x7f, 0x7f]],
  ['digit', DIGITS],
  ['graph', [0x21, 0x7e]],
  ['lower', [0x61, 0x7a]],
  ['print', [0x20, 0x7e]],
  ['punct', [0x21, 0x2f, 0x3a, 0x40, 0x5b, 0x60, 0x7b, 0x7e]],
  ['space', [0x09, 0x0d, 0x20, 0x20]],
  ['upper', [0x41, 0x5a]],
  ['word', WORDS],
  ['xdigit', [0x30, 0x39, 0x41, 0x46, 0x61, 0x66]],
]);

/** Code points that fold to an ASCII or Latin-1 letter, and are not its upper or lower case form. */
const EXTRA_FOLDS: ReadonlyMap<number, number> = new Map([
  [0x6b, 0x212a],
  [0x73, 0x17f],
  [0xe5, 0x212b],
]);

export function inRanges(ranges: Ranges): RuneTest {
  return (rune) => {
    for (let index = 0; index < ranges.length; index += 2) {
      if (rune >= (ranges[index] as number) && rune <= (ranges[index + 1] as number)) return true;
    }
    return false;
  };
}

/** Returns the test for a general category or script, for example `Lu` or `Greek`, or undefined for unknown names. */
export function unicodeClass(name: string): RuneTest | undefined {
  if (name === 'Any') return () => true;
  if (!/^[A-Za-z][A-Za-z_]*$/.test(name)) return undefined;
  const category = `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;
  // A property without a value is a general category.
  for (const property of [...(name.length > 2 ? [] : [category]), `Script=${category}`]) {
    try {
      const pattern = new RegExp(`^\\p{${property}}$`, 'u');
      return (rune) => pattern.test(String.fromCodePoint(rune));
    } catch {
      // Not a property.
    }
  }
  return undefined;
}

export function anyOf(tests: readonly RuneTest[]): RuneTest {
  return (rune) => tests.some((test) => test(rune));
}

export function not(test: RuneTest): RuneTest {
  return (rune) => !test(rune);
}

/** Makes a test ignore case. */
export function ignoringCase(test: RuneTest): RuneTest {
  return (rune) => {
    if (test(rune)) return true;
    const lower = toLower(rune);
    const extra = EXTRA_FOLDS.get(lower);
    return test(lower) || test(toUpper(lower)) || test(toUpper(rune)) || (extra !== undefined && test(extra));
  };
}

/** Remembers the answers for ASCII. */
export function tabulated(test: RuneTest): RuneTest {
  const ascii = Uint8Array.from({ length: 128 }, (_, rune) => (test(rune) ? 1 : 0));
  return (rune) => (rune < 128 ? ascii[rune] === 1 : test(rune));
}
