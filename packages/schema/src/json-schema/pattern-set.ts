import type { RE2JS } from 're2js';
import { loadRe2 } from '../libraries/lazy-libraries.js';

export const MAX_PATTERN_LENGTH = 1_000;
/** Instructions of all patterns of one definition. Compiling 1,000 takes about 0.7 ms. */
const MAX_INSTRUCTIONS = 200_000;
/** Steps of all matches of one definition: characters times instructions. A million takes up to 50 ms. */
const MAX_STEPS = 4_000_000;

export type CompiledPattern =
  | { expression: RE2JS; instructions: number }
  | { refused: 'syntax'; reason: string }
  | { refused: 'length' }
  | { refused: 'cost' };

/** The patterns of one schema, each compiled once, and all together within a bound. */
export class PatternSet {
  readonly #compiled = new Map<string, CompiledPattern>();
  #instructions = 0;
  #steps = 0;

  /** Reports whether a text was not matched because what was matched before had cost too much. */
  get exhausted(): boolean {
    return this.#steps > MAX_STEPS;
  }

  compile(pattern: string): CompiledPattern {
    const known = this.#compiled.get(pattern);
    if (known !== undefined) return known;
    const compiled = this.#compilePattern(pattern);
    this.#compiled.set(pattern, compiled);
    return compiled;
  }

  /** Reports whether the pattern is found in the text; what could not be compiled or costs too much restricts nothing. */
  test(pattern: string, text: string): boolean {
    const compiled = this.compile(pattern);
    if (!('expression' in compiled)) return true;
    // Linear in the text is not soon: every instruction may be looked at for every character.
    this.#steps += text.length * compiled.instructions;
    return this.exhausted || compiled.expression.test(text);
  }

  #compilePattern(pattern: string): CompiledPattern {
    if (pattern.length > MAX_PATTERN_LENGTH) return { refused: 'length' };
    const instructions = countInstructions(pattern);
    this.#instructions += instructions;
    if (this.#instructions > MAX_INSTRUCTIONS) return { refused: 'cost' };
    try {
      return { expression: loadRe2().compile(pattern), instructions };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return { refused: 'syntax', reason: message.replace(/^error parsing regexp: /, '') };
    }
  }
}

/** An escape, a class, a repeat, or one character. */
const TOKEN = /\\[pP](?:\{[^}]*\}|.)|\\.|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]|\{(\d+)(?:,(\d*))?\}|./gsu;
/** A class of Unicode has hundreds of ranges. */
const UNICODE_CLASS = 20;

/** About how many instructions a pattern compiles to: what is repeated stands there as often. */
export function countInstructions(pattern: string): number {
  const outer: number[] = [];
  let sum = 0;
  let last = 0;
  for (const [token, least, most] of pattern.matchAll(TOKEN)) {
    if (least !== undefined) {
      // RE2 refuses repeats of more than 1,000.
      const times = Math.min(Math.max(Number(least), Number(most || 0), 1), 1_000);
      sum += last * (times - 1);
      last *= times;
    } else if (token === '(') {
      outer.push(sum);
      sum = 0;
      last = 0;
    } else if (token === ')') {
      last = sum + 2;
      sum = (outer.pop() ?? 0) + last;
    } else {
      last = 1 + UNICODE_CLASS * (token.match(/\\[pP]/g)?.length ?? 0);
      sum += last;
    }
  }
  return outer.reduce((total, part) => total + part, sum);
}
