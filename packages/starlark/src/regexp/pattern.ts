/**
 * Regular expressions in RE2 syntax, matched in linear time.
 *
 * @module
 */

import { countCompiling, countInstructions } from '@krmhub/schema/json-schema/pattern-set';
import { loadRe2 } from '@krmhub/schema/libraries/lazy-libraries';
import { runeWidth } from '../text/utf8.js';
import { decodeString } from '../values/string.js';
import { type Match, Matcher, type Program } from './matcher.js';

/** Instructions of a compiled pattern: matching takes this many steps for each code point of the text at most. */
const MAX_INSTRUCTIONS = 20_000;

/** Steps that take as long as compiling one instruction. */
const COMPILING_STEPS = 400;
/** An estimate counts some instructions that RE2JS leaves out. */
const ESTIMATE_FACTOR = 3;

/** Counts steps of a match, and throws when there are too many. */
type StepCounter = (count: number) => void;

/** A pattern that is not valid, with the message that Go's package regexp has. */
export class PatternError extends Error {
  constructor(problem: string, excerpt: string) {
    super(`error parsing regexp: ${problem}: \`${excerpt}\``);
  }
}

/** A compiled pattern. Patterns and texts are byte strings; all matches take linear time. */
export class Pattern {
  /** The names of the groups; group 0 is the whole match, and `''` is the name of a group without one. */
  readonly groupNames: readonly string[];
  private readonly program: Program;

  /** Throws a PatternError for a pattern that is not valid RE2 syntax, or is too large. */
  constructor(
    readonly source: string,
    step: StepCounter = () => undefined,
  ) {
    const { program, groupNames } = compile(decodeString(Buffer.from(source, 'latin1')), step);
    this.groupNames = groupNames;
    this.program = program;
  }

  /** The number of instructions: matching takes at most so many steps per code point. */
  get size(): number {
    return this.program.inst.length;
  }

  /** Returns the leftmost match. */
  find(text: string, step: StepCounter): Match | undefined {
    return new Matcher(this.program, this.groupNames.length, step).find(text, 0);
  }

  /** Yields the matches from left to right that do not overlap; an empty match is not adjacent to the one before. */
  *findAll(text: string, step: StepCounter): Generator<Match> {
    const matcher = new Matcher(this.program, this.groupNames.length, step);
    let previousEnd = -1;
    for (let index = 0; index <= text.length; ) {
      const match = matcher.find(text, index);
      if (match === undefined) return;
      const [start, end] = match as [number, number];
      if (end > index) index = end;
      else index += index < text.length ? runeWidth(text, index) : 1;
      if (start !== end || start !== previousEnd) yield match;
      previousEnd = end;
    }
  }

  /** Replaces `$1`, `${name}`, and `$$` in a template with the groups of a match; unknown groups are empty. */
  expand(template: string, text: string, match: Match): string {
    return template.replace(
      /\$(?:\$|\{([^{}]*)\}|([A-Za-z0-9_\x80-\xff]+))/g,
      (whole: string, braced?: string, plain?: string) => {
        if (whole === '$$') return '$';
        const name = braced ?? plain ?? '';
        if (!/^[A-Za-z0-9_\x80-\xff]+$/.test(name)) return whole;
        return this.group(name, text, match) ?? '';
      },
    );
  }

  private group(name: string, text: string, match: Match): string | undefined {
    const numbered = /^(?:0|[1-9][0-9]*)$/.test(name);
    const index = numbered
      ? Number(name)
      : this.groupNames.findIndex((given, group) => given === name && (match[group * 2] ?? -1) >= 0);
    const start = match[index * 2];
    return start === undefined || start < 0 ? undefined : text.slice(start, match[index * 2 + 1]);
  }
}

/** Matches quoted text, a class in brackets, an escape, and the start of a group that captures. */
const TOKEN =
  /\\Q.*?(?:\\E|$)|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*(?:\]|\\?$)|\\[pP]\{?\^?[a-z]|\\.|\((?:\?P?<(\w+)>|(?!\?))/gsu;
/** Matches an escape: that of a Unicode property, with the first letter of its name, or another. */
const PROPERTY = /(\\[pP]\{?\^?)([a-z])|\\./gs;
const capitalized = (whole: string, start?: string, letter = '') =>
  start === undefined ? whole : `${start}${letter.toUpperCase()}`;

function compile(source: string, step: StepCounter): { program: Program; groupNames: string[] } {
  if (/[\udc80-\udcff]/u.test(source)) throw new PatternError('invalid UTF-8', source);
  if (source.length > MAX_INSTRUCTIONS) throw new PatternError('expression too large', source);
  // RE2JS takes fewer names than Go does.
  const groupNames = [''];
  const plain = source.replace(TOKEN, (token: string, name?: string) => {
    if (token.startsWith('(')) groupNames.push(name ?? '');
    if (name !== undefined) return '(';
    return token.startsWith('\\Q') ? token : token.replace(PROPERTY, capitalized);
  });
  step(countCompiling(plain) * COMPILING_STEPS);
  const { RE2JS, RE2JSSyntaxException } = loadRe2();
  const tooLarge = () => new PatternError('expression too large', source);
  if (countInstructions(plain, 0) > MAX_INSTRUCTIONS * ESTIMATE_FACTOR) throw tooLarge();
  try {
    const program: Program = RE2JS.compile(plain).re2Input.prog;
    if (program.inst.length > MAX_INSTRUCTIONS) throw tooLarge();
    return { program, groupNames };
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) throw error;
    const excerpt = error.getPattern() ?? '';
    throw new PatternError(error.getDescription(), excerpt === plain ? source : excerpt);
  }
}
