/** What a zero-width assertion tests at a position. */
export type Assertion = 'textStart' | 'textEnd' | 'lineStart' | 'lineEnd' | 'boundary' | 'inside';

/** Reports whether one code point matches. */
export type RuneTest = (rune: number) => boolean;

/** The syntax tree of a regular expression. */
export type Expression =
  | { kind: 'empty' }
  | { kind: 'rune'; rune: number }
  | { kind: 'class'; test: RuneTest }
  | { kind: 'assertion'; assertion: Assertion }
  | { kind: 'group'; index: number; body: Expression }
  | { kind: 'sequence'; items: Expression[] }
  | { kind: 'choice'; items: Expression[] }
  | { kind: 'repeat'; body: Expression; min: number; max: number; greedy: boolean };

/** A pattern that is not valid, with the message that Go's package regexp has. */
export class PatternError extends Error {
  constructor(problem: string, excerpt: string) {
    super(`error parsing regexp: ${problem}: \`${excerpt}\``);
  }
}

/** Depth of nested groups. */
export const MAX_DEPTH = 1000;
/** Copies that counted repetitions make of one part, also when they are nested. */
export const MAX_REPEAT = 1000;
/** Instructions of a compiled pattern: matching takes this many steps for each code point of the text at most. */
export const MAX_INSTRUCTIONS = 20_000;
