import type { RE2JS } from 're2js';
import { loadRe2 } from '../libraries/lazy-libraries.js';

export const MAX_PATTERN_LENGTH = 1_000;
/** Maximum number of instructions of all patterns of a definition. 1,000 take about 0.7 ms to compile. */
const MAX_INSTRUCTIONS = 200_000;
/** Maximum number of match steps of a definition: characters times instructions. A million steps take up to 50 ms. */
const MAX_STEPS = 4_000_000;

export type CompiledPattern =
  | { expression: RE2JS; instructions: number }
  | { refused: 'syntax'; reason: string }
  | { refused: 'length' }
  | { refused: 'cost' };

/** The compiled patterns of one schema, with a limit on their total cost. */
export class PatternSet {
  readonly #compiled = new Map<string, CompiledPattern>();
  #instructions = 0;
  #steps = 0;

  /** Whether a text was not matched, because earlier matches used up the budget. */
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

  /**
   * Reports whether the pattern matches the text. Patterns that cannot be compiled or cost too much match any text.
   */
  test(pattern: string, text: string): boolean {
    const compiled = this.compile(pattern);
    if (!('expression' in compiled)) return true;
    // Linear time can still be slow, because each character can visit every instruction.
    this.#steps += text.length * compiled.instructions;
    return this.exhausted || compiled.expression.test(text);
  }

  #compilePattern(pattern: string): CompiledPattern {
    if (pattern.length > MAX_PATTERN_LENGTH) return { refused: 'length' };
    const instructions = countInstructions(pattern);
    this.#instructions += instructions + countFolding(pattern);
    if (this.#instructions > MAX_INSTRUCTIONS) return { refused: 'cost' };
    try {
      return { expression: compiledOnce(pattern, instructions), instructions };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return { refused: 'syntax', reason: message.replace(/^error parsing regexp: /, '') };
    }
  }
}

/** Patterns of earlier schemas to remember, and the largest: many schemas have the same few, such as that of a name. */
const REMEMBERED = { patterns: 200, instructions: 200 };
const remembered = new Map<string, RE2JS>();

function compiledOnce(pattern: string, instructions: number): RE2JS {
  const known = remembered.get(pattern);
  if (known !== undefined) return known;
  const expression = loadRe2().RE2JS.compile(pattern);
  if (remembered.size >= REMEMBERED.patterns) remembered.clear();
  if (instructions <= REMEMBERED.instructions) remembered.set(pattern, expression);
  return expression;
}

/** Matches quoted text, an escape, a class, a repeat, or one character. A class that does not end is not valid. */
const TOKEN =
  /\\Q(.*?)(?:\\E|$)|\\[pP](?:\{[^}]*(?:\}|$)|.)|\\.|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*(?:\]|\\?$)|\{(\d+)(?:,(\d*))?\}|./gsu;
/** A Unicode class has hundreds of ranges. */
const UNICODE_CLASS = 20;
/** RE2JS folds each character of a range. One to the end of Unicode takes as long as so many instructions. */
const FOLDED_RANGE = 6_000;
/** Matches the end of a range in a class, if it may be far from the start. */
const FAR_END = /-(?:\\[xu]|[^\p{ASCII}])/gu;

/** Estimates what compiling a pattern costs, in instructions. */
export function countCompiling(pattern: string): number {
  return countInstructions(pattern) + countFolding(pattern);
}

/** Estimates what folding the case of classes costs, in instructions. */
export function countFolding(pattern: string): number {
  if (!/\(\?[a-zA-Z]*i/.test(pattern)) return 0;
  const classes = [...pattern.matchAll(TOKEN)].filter(([token]) => token.startsWith('['));
  return classes.reduce((sum, [token]) => sum + (token.match(FAR_END)?.length ?? 0) * FOLDED_RANGE, 0);
}

/** Estimates the number of instructions of a pattern. Repeats multiply it. */
export function countInstructions(pattern: string, unicodeClass = UNICODE_CLASS): number {
  const outer: number[] = [];
  let sum = 0;
  let last = 0;
  for (const [token, quoted, least, most] of pattern.matchAll(TOKEN)) {
    if (quoted !== undefined) {
      last = 1;
      sum += quoted.length;
    } else if (least !== undefined) {
      // RE2 rejects repeats of more than 1,000.
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
      last = 1 + unicodeClass * (token.match(/\\[pP]/g)?.length ?? 0);
      sum += last;
    }
  }
  return outer.reduce((total, part) => total + part, sum);
}
