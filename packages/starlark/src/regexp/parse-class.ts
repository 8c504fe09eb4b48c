import { runeAt, runeWidth } from '../text/utf8.js';
import {
  anyOf,
  ignoringCase,
  inRanges,
  not,
  PERL_CLASSES,
  POSIX_CLASSES,
  unicodeClass,
} from './rune-class.js';
import { PatternError, type RuneTest } from './tree.js';

export interface ReadClass {
  test: RuneTest;
  /** The index after the class. */
  end: number;
}

const CONTROL: Readonly<Record<string, number>> = { a: 7, f: 12, n: 10, r: 13, t: 9, v: 11 };

/** Reads classes and escapes of a pattern. */
export class ClassReader {
  constructor(private readonly pattern: string) {}

  /** Reads a class in brackets, for example `[^a-z\d[:space:]]`. */
  brackets(start: number, ignoreCase: boolean): ReadClass {
    let index = start + 1;
    const negated = this.pattern[index] === '^';
    if (negated) index++;
    const ranges: number[] = [];
    const tests: RuneTest[] = [];
    for (let first = true; first || this.pattern[index] !== ']'; first = false) {
      if (index >= this.pattern.length) throw this.missingBracket(start);
      const named = this.posixClass(index, ignoreCase) ?? this.escapedClass(index, ignoreCase);
      if (named !== undefined) {
        tests.push(named.test);
        index = named.end;
        continue;
      }
      const rangeStart = index;
      const low = this.classRune(index, start);
      index = low.end;
      let high = low.rune;
      if (this.pattern[index] === '-' && index + 1 < this.pattern.length && this.pattern[index + 1] !== ']') {
        const read = this.classRune(index + 1, start);
        high = read.rune;
        index = read.end;
        if (high < low.rune) {
          throw new PatternError('invalid character class range', this.pattern.slice(rangeStart, index));
        }
      }
      ranges.push(low.rune, high);
    }
    const test = anyOf([folded(inRanges(ranges), ignoreCase), ...tests]);
    return { test: negated ? not(test) : test, end: index + 1 };
  }

  /** Reads `\d`, `\pN`, `\p{Greek}`, and their negations; undefined for other text. */
  escapedClass(start: number, ignoreCase: boolean): ReadClass | undefined {
    if (this.pattern[start] !== '\\') return undefined;
    const letter = this.pattern[start + 1] ?? '';
    const perl = PERL_CLASSES.get(letter.toLowerCase());
    if (perl !== undefined)
      return this.classOf(inRanges(perl), letter !== letter.toLowerCase(), ignoreCase, start + 2);
    if (letter !== 'p' && letter !== 'P') return undefined;
    const braced = this.pattern[start + 2] === '{';
    const closing = braced ? this.pattern.indexOf('}', start) : start + 2 + this.widthAt(start + 2);
    const end = braced ? closing + 1 : closing;
    const excerpt = this.pattern.slice(start, closing < 0 ? undefined : end);
    if (closing < 0 || start + 2 >= this.pattern.length) {
      throw new PatternError('invalid character class range', excerpt);
    }
    let name = this.pattern.slice(braced ? start + 3 : start + 2, closing);
    const inverted = name.startsWith('^');
    if (inverted) name = name.slice(1);
    const test = unicodeClass(name);
    if (test === undefined) throw new PatternError('invalid character class range', excerpt);
    return this.classOf(test, inverted !== (letter === 'P'), ignoreCase, end);
  }

  /** Reads an escape that gives one code point, for example `\n`, `\x{41}`, `\101`, or `\.`. */
  escapedRune(start: number): { rune: number; end: number } {
    const letter = this.pattern[start + 1];
    if (letter === undefined) throw new PatternError('trailing backslash at end of expression', '');
    const control = Object.hasOwn(CONTROL, letter) ? CONTROL[letter] : undefined;
    if (control !== undefined) return { rune: control, end: start + 2 };
    if (letter === 'x') return this.hexadecimal(start);
    const octal = /(?:[1-7][0-7]{1,2}|0[0-7]{0,2})/y;
    octal.lastIndex = start + 1;
    const digits = octal.exec(this.pattern)?.[0];
    if (digits !== undefined) {
      return { rune: Number.parseInt(digits, 8), end: start + 1 + digits.length };
    }
    // Any other ASCII punctuation is literal.
    if (/[!-/:-@[-`{-~]/.test(letter)) return { rune: letter.charCodeAt(0), end: start + 2 };
    const end = start + 1 + this.widthAt(start + 1);
    throw new PatternError('invalid escape sequence', this.pattern.slice(start, end));
  }

  private hexadecimal(start: number): { rune: number; end: number } {
    const form = /\\x(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]+)\})/y;
    form.lastIndex = start;
    const found = form.exec(this.pattern);
    const rune = Number.parseInt(found?.[1] ?? found?.[2] ?? '', 16);
    if (found === null || rune > 0x10ffff) {
      const excerpt = /\\x(?:\{[0-9A-Fa-f]*(?:[^\x80-\xbf][\x80-\xbf]*)?|(?:[^\x80-\xbf][\x80-\xbf]*){0,2})/y;
      excerpt.lastIndex = start;
      throw new PatternError('invalid escape sequence', excerpt.exec(this.pattern)?.[0] ?? '\\x');
    }
    return { rune, end: start + found[0].length };
  }

  private posixClass(start: number, ignoreCase: boolean): ReadClass | undefined {
    if (!this.pattern.startsWith('[:', start)) return undefined;
    const closing = this.pattern.indexOf(':]', start + 2);
    if (closing < 0) return undefined;
    const text = this.pattern.slice(start + 2, closing);
    const negated = text.startsWith('^');
    const ranges = POSIX_CLASSES.get(negated ? text.slice(1) : text);
    if (ranges === undefined) {
      throw new PatternError('invalid character class range', this.pattern.slice(start, closing + 2));
    }
    return this.classOf(inRanges(ranges), negated, ignoreCase, closing + 2);
  }

  private classOf(test: RuneTest, negated: boolean, ignoreCase: boolean, end: number): ReadClass {
    const positive = folded(test, ignoreCase);
    return { test: negated ? not(positive) : positive, end };
  }

  private classRune(index: number, start: number): { rune: number; end: number } {
    if (index >= this.pattern.length) throw this.missingBracket(start);
    if (this.pattern[index] === '\\') return this.escapedRune(index);
    return { rune: runeAt(this.pattern, index), end: index + this.widthAt(index) };
  }

  private widthAt(index: number): number {
    return index < this.pattern.length ? runeWidth(this.pattern, index) : 0;
  }

  private missingBracket(start: number): PatternError {
    return new PatternError('missing closing ]', this.pattern.slice(start));
  }
}

function folded(test: RuneTest, ignoreCase: boolean): RuneTest {
  return ignoreCase ? ignoringCase(test) : test;
}
