/**
 * Regular expressions in RE2 syntax, matched in linear time.
 *
 * @module
 */

import { runeWidth } from '../text/utf8.js';
import { type Match, Matcher } from './matcher.js';
import { parsePattern } from './parse.js';
import { compileExpression, type Instruction } from './program.js';

/** Counts steps of a match, and throws when there are too many. */
export type StepCounter = (count: number) => void;

/** A compiled pattern. Patterns and texts are byte strings; all matches take linear time. */
export class Pattern {
  /** The names of the groups; group 0 is the whole match, and `''` is the name of a group without one. */
  readonly groupNames: readonly string[];
  private readonly program: readonly Instruction[];

  /** Throws a PatternError for a pattern that is not valid RE2 syntax, or is too large. */
  constructor(readonly source: string) {
    const { expression, groupNames } = parsePattern(source);
    this.groupNames = groupNames;
    this.program = compileExpression(expression, source);
  }

  /** The number of instructions: matching takes at most so many steps per code point. */
  get size(): number {
    return this.program.length;
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
