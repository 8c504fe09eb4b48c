import type { RE2JS } from 're2js';
import { loadRe2 } from '../libraries.js';

export const MAX_PATTERN_LENGTH = 1_000;
/** Of all patterns of one schema. Compiling 20,000 units takes about 5 ms. */
const MAX_COST = 1_000_000;

export type CompiledPattern =
  | { expression: RE2JS }
  | { refused: 'syntax'; reason: string }
  | { refused: 'length' }
  | { refused: 'cost' };

/** The patterns of one schema, each compiled once, and all together within a bound. */
export class PatternSet {
  readonly #compiled = new Map<string, CompiledPattern>();
  #cost = 0;

  compile(pattern: string): CompiledPattern {
    const known = this.#compiled.get(pattern);
    if (known !== undefined) return known;
    const compiled = this.#make(pattern);
    this.#compiled.set(pattern, compiled);
    return compiled;
  }

  /** Whether the pattern is found in the text; what could not be compiled restricts nothing. */
  test(pattern: string, text: string): boolean {
    const compiled = this.compile(pattern);
    return !('expression' in compiled) || compiled.expression.test(text);
  }

  #make(pattern: string): CompiledPattern {
    if (pattern.length > MAX_PATTERN_LENGTH) return { refused: 'length' };
    this.#cost += patternCost(pattern);
    if (this.#cost > MAX_COST) return { refused: 'cost' };
    try {
      return { expression: loadRe2().compile(pattern) };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return { refused: 'syntax', reason: message.replace(/^error parsing regexp: /, '') };
    }
  }
}

/** An upper bound of the instructions that a pattern compiles to: its length times its repeats. */
function patternCost(pattern: string): number {
  let repeat = 1;
  for (const match of pattern.matchAll(/\{(\d{1,4})(?:,(\d{0,4}))?\}/g)) {
    repeat += Math.max(Number(match[1]), Number(match[2] || 0));
  }
  // RE2 refuses repeats of more than 1,000 in all.
  return pattern.length * Math.min(repeat, 1_000);
}
