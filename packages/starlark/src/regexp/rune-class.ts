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
  const merged = merge(ranges);
  return (rune) => {
    // The last range that starts at or before the code point.
    let low = 0;
    let high = merged.length / 2;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((merged[middle * 2] as number) <= rune) low = middle + 1;
      else high = middle;
    }
    return low > 0 && rune <= (merged[low * 2 - 1] as number);
  };
}

/** Returns the same ranges sorted, without overlap. */
function merge(ranges: Ranges): Ranges {
  const pairs: [number, number][] = [];
  for (let index = 0; index < ranges.length; index += 2) {
    pairs.push([ranges[index] as number, ranges[index + 1] as number]);
  }
  const merged: number[] = [];
  for (const [start, end] of pairs.sort(([x], [y]) => x - y)) {
    const last = merged.length - 1;
    if (last >= 0 && start <= (merged[last] as number)) merged[last] = Math.max(merged[last] as number, end);
    else merged.push(start, end);
  }
  return merged;
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
