import { runeAt, runeWidth } from '../text/utf8.js';
import { ClassReader } from './parse-class.js';
import { ignoringCase, inRanges, tabulated } from './rune-class.js';
import { type Assertion, type Expression, MAX_DEPTH, MAX_REPEAT, PatternError } from './tree.js';

/** `i`, `m`, `s`, `U`: ignore case, `^` and `$` at lines, `.` matches line ends, swap greedy and lazy. */
interface Flags {
  ignoreCase: boolean;
  multiline: boolean;
  dotAll: boolean;
  swapGreed: boolean;
}

export interface ParsedPattern {
  expression: Expression;
  /** The names of the groups; group 0 is the whole match, and `''` is the name of a group without one. */
  groupNames: string[];
}

const ASSERTIONS: Readonly<Record<string, Assertion>> = {
  A: 'textStart',
  z: 'textEnd',
  b: 'boundary',
  B: 'inside',
};
const FLAG_NAMES: Readonly<Record<string, keyof Flags>> = {
  i: 'ignoreCase',
  m: 'multiline',
  s: 'dotAll',
  U: 'swapGreed',
};
const GROUP_NAME = /^[\p{L}\p{N}_]+$/u;

/**
 * Parses a pattern, a byte string, in RE2 syntax (https://github.com/google/re2/wiki/Syntax). Throws a PatternError.
 */
export function parsePattern(pattern: string): ParsedPattern {
  return new Parser(pattern).parse();
}

class Parser {
  private readonly groupNames = [''];
  private readonly classes: ClassReader;
  private index = 0;
  private depth = 0;
  private flags: Flags = { ignoreCase: false, multiline: false, dotAll: false, swapGreed: false };

  constructor(private readonly pattern: string) {
    this.classes = new ClassReader(pattern);
  }

  parse(): ParsedPattern {
    for (let index = 0; index < this.pattern.length; index += runeWidth(this.pattern, index)) {
      if (runeWidth(this.pattern, index) === 1 && this.pattern.charCodeAt(index) >= 0x80) {
        throw new PatternError('invalid UTF-8', this.pattern);
      }
    }
    const expression = this.choice();
    if (this.index < this.pattern.length) throw new PatternError('unexpected )', this.pattern);
    return { expression, groupNames: this.groupNames };
  }

  private choice(): Expression {
    const items = [this.sequence()];
    while (this.pattern[this.index] === '|') {
      this.index++;
      items.push(this.sequence());
    }
    return items.length === 1 ? (items[0] as Expression) : { kind: 'choice', items };
  }

  private sequence(): Expression {
    const items: Expression[] = [];
    let repeated = -1;
    while (this.index < this.pattern.length && this.pattern[this.index] !== '|') {
      const start = this.index;
      if (this.pattern[start] === ')') break;
      const counts = this.repetition();
      if (counts === undefined) {
        items.push(...this.atoms());
        repeated = -1;
        continue;
      }
      const body = items.pop();
      const lazy = this.pattern[this.index] === '?';
      if (lazy) this.index++;
      const operator = this.pattern.slice(start, this.index);
      if (body === undefined) throw new PatternError('missing argument to repetition operator', operator);
      if (repeated >= 0) {
        const operators = this.pattern.slice(repeated, this.index);
        throw new PatternError('invalid nested repetition operator', operators);
      }
      const item: Expression = { kind: 'repeat', body, ...counts, greedy: lazy === this.flags.swapGreed };
      if (copies(item) > MAX_REPEAT) {
        throw new PatternError('invalid repeat count', this.pattern.slice(start, this.index));
      }
      items.push(item);
      repeated = start;
    }
    return items.length === 1 ? (items[0] as Expression) : { kind: 'sequence', items };
  }

  /** Reads `*`, `+`, `?`, `{n}`, `{n,}`, or `{n,m}`; other text with a brace is literal. */
  private repetition(): { min: number; max: number } | undefined {
    const simple = { '*': [0, Infinity], '+': [1, Infinity], '?': [0, 1] }[this.pattern[this.index] as '*'];
    if (simple !== undefined) {
      this.index++;
      return { min: simple[0] as number, max: simple[1] as number };
    }
    if (this.pattern[this.index] !== '{') return undefined;
    const counts = /\{(0|[1-9][0-9]*)(,(0|[1-9][0-9]*)?)?\}/y;
    counts.lastIndex = this.index;
    const found = counts.exec(this.pattern);
    if (found === null) return undefined;
    this.index += found[0].length;
    const min = Number(found[1]);
    const max = found[2] === undefined ? min : found[3] === undefined ? Infinity : Number(found[3]);
    if (min > MAX_REPEAT || (max !== Infinity && (max > MAX_REPEAT || max < min))) {
      throw new PatternError('invalid repeat count', found[0]);
    }
    return { min, max };
  }

  /** Reads parts, the last of which can be repeated: most often one, and none for flags as in `(?i)`. */
  private atoms(): Expression[] {
    if (this.pattern.startsWith('\\Q', this.index)) return this.quoted();
    const atom = this.atom();
    return atom === undefined ? [] : [atom];
  }

  private atom(): Expression | undefined {
    const start = this.index;
    const char = this.pattern[start] as string;
    switch (char) {
      case '(':
        return this.group();
      case '[':
        return this.class(this.classes.brackets(start, this.flags.ignoreCase));
      case '.':
        this.index++;
        return { kind: 'class', test: this.flags.dotAll ? () => true : (rune) => rune !== 0x0a };
      case '^':
        this.index++;
        return { kind: 'assertion', assertion: this.flags.multiline ? 'lineStart' : 'textStart' };
      case '$':
        this.index++;
        return { kind: 'assertion', assertion: this.flags.multiline ? 'lineEnd' : 'textEnd' };
      case '\\':
        return this.escape();
      default:
        this.index += runeWidth(this.pattern, start);
        return this.literal(runeAt(this.pattern, start));
    }
  }

  private escape(): Expression {
    const start = this.index;
    const letter = this.pattern[start + 1] ?? '';
    const assertion = ASSERTIONS[letter];
    if (assertion !== undefined && Object.hasOwn(ASSERTIONS, letter)) {
      this.index += 2;
      return { kind: 'assertion', assertion };
    }
    const named = this.classes.escapedClass(start, this.flags.ignoreCase);
    if (named !== undefined) return this.class(named);
    const { rune, end } = this.classes.escapedRune(start);
    this.index = end;
    return this.literal(rune);
  }

  /** Reads the literal text between `\Q` and `\E`. */
  private quoted(): Expression[] {
    const start = this.index + 2;
    const found = this.pattern.indexOf('\\E', start);
    const end = found < 0 ? this.pattern.length : found;
    const items: Expression[] = [];
    for (let index = start; index < end; index += runeWidth(this.pattern, index)) {
      items.push(this.literal(runeAt(this.pattern, index)));
    }
    this.index = found < 0 ? end : end + 2;
    return items;
  }

  private class({ test, end }: { test: (rune: number) => boolean; end: number }): Expression {
    this.index = end;
    return { kind: 'class', test: tabulated(test) };
  }

  private literal(rune: number): Expression {
    if (!this.flags.ignoreCase) return { kind: 'rune', rune };
    return { kind: 'class', test: tabulated(ignoringCase(inRanges([rune, rune]))) };
  }

  private group(): Expression | undefined {
    const start = this.index;
    const outer = { ...this.flags };
    let index: number | undefined;
    this.index++;
    if (this.pattern[this.index] !== '?') {
      index = this.groupNames.push('') - 1;
    } else {
      const name = this.groupName(start);
      if (name !== undefined) {
        index = this.groupNames.push(name) - 1;
      } else if (!this.readFlags(start)) {
        return undefined;
      }
    }
    if (++this.depth > MAX_DEPTH) throw new PatternError('expression nests too deeply', this.pattern);
    const body = this.choice();
    this.depth--;
    if (this.pattern[this.index] !== ')') throw new PatternError('missing closing )', this.pattern);
    this.index++;
    this.flags = outer;
    return index === undefined ? body : { kind: 'group', index, body };
  }

  /** Reads `?P<name>` or `?<name>`. */
  private groupName(start: number): string | undefined {
    const opening = ['(?P<', '(?<'].find((text) => this.pattern.startsWith(text, start));
    if (opening === undefined) return undefined;
    const end = this.pattern.indexOf('>', start);
    if (end < 0) throw new PatternError('invalid named capture', this.pattern.slice(start));
    const name = this.pattern.slice(start + opening.length, end);
    if (!GROUP_NAME.test(name)) {
      throw new PatternError('invalid named capture', this.pattern.slice(start, end + 1));
    }
    this.index = end + 1;
    return name;
  }

  /** Reads flags, for example `?i-s:`; returns false where they end with `)`, and hold for the rest of the group. */
  private readFlags(start: number): boolean {
    let negated = false;
    let letters = 0;
    const changed = { ...this.flags };
    for (this.index++; this.index < this.pattern.length; ) {
      const letter = this.pattern[this.index] as string;
      this.index += runeWidth(this.pattern, this.index);
      if ((letter === ':' || letter === ')') && !(negated && letters === 0)) {
        this.flags = changed;
        return letter === ':';
      }
      const flag = Object.hasOwn(FLAG_NAMES, letter) ? FLAG_NAMES[letter] : undefined;
      if (letter === '-' && !negated) {
        negated = true;
        letters = 0;
      } else if (flag !== undefined) {
        changed[flag] = !negated;
        letters++;
      } else {
        break;
      }
    }
    throw new PatternError('invalid or unsupported Perl syntax', this.pattern.slice(start, this.index));
  }
}

/** Returns how many copies nested counted repetitions make of their innermost part. */
function copies(expression: Expression): number {
  switch (expression.kind) {
    case 'repeat': {
      const count = expression.max === Infinity ? expression.min : expression.max;
      return Math.max(count, 1) * copies(expression.body);
    }
    case 'group':
      return copies(expression.body);
    case 'sequence':
    case 'choice':
      return expression.items.reduce((most, item) => Math.max(most, copies(item)), 1);
    default:
      return 1;
  }
}

/** Returns a pattern that matches text literally, as Go's QuoteMeta. */
export function quotePattern(text: string): string {
  return text.replace(/[\\.+*?()|[\]{}^$]/g, '\\$&');
}
