import { type Assertion, type Expression, MAX_INSTRUCTIONS, PatternError, type RuneTest } from './tree.js';

/** One step of a compiled pattern. `next` and `other` are indexes of instructions. */
export type Instruction =
  | { code: 'rune'; rune: number; next: number }
  | { code: 'class'; test: RuneTest; next: number }
  /** Continues at both; `next` is preferred. */
  | { code: 'split'; next: number; other: number }
  /** Stores the position in a slot. */
  | { code: 'save'; slot: number; next: number }
  | { code: 'assertion'; assertion: Assertion; next: number }
  | { code: 'match' };

/** Compiles a syntax tree for the matcher. Throws a PatternError if it is too large. */
export function compileExpression(expression: Expression, pattern: string): Instruction[] {
  return new Compiler(pattern).compile(expression);
}

/** Compiles from the end, so that each part knows what comes next. */
class Compiler {
  private readonly instructions: Instruction[] = [{ code: 'match' }];

  constructor(private readonly pattern: string) {}

  /** The first instruction is the last one. */
  compile(expression: Expression): Instruction[] {
    this.add({
      code: 'save',
      slot: 0,
      next: this.part(expression, this.add({ code: 'save', slot: 1, next: 0 })),
    });
    return this.instructions;
  }

  /** Returns the index of the first instruction of a part that continues at `next`. */
  private part(expression: Expression, next: number): number {
    switch (expression.kind) {
      case 'empty':
        return next;
      case 'rune':
        return this.add({ code: 'rune', rune: expression.rune, next });
      case 'class':
        return this.add({ code: 'class', test: expression.test, next });
      case 'assertion':
        return this.add({ code: 'assertion', assertion: expression.assertion, next });
      case 'group': {
        const slot = expression.index * 2;
        const end = this.add({ code: 'save', slot: slot + 1, next });
        return this.add({ code: 'save', slot, next: this.part(expression.body, end) });
      }
      case 'sequence':
        return expression.items.reduceRight((following, item) => this.part(item, following), next);
      case 'choice': {
        const starts = expression.items.map((item) => this.part(item, next));
        return starts.reduceRight((other, start) => this.add({ code: 'split', next: start, other }));
      }
      case 'repeat':
        return this.repeat(expression, next);
    }
  }

  private repeat({ body, min, max, greedy }: Extract<Expression, { kind: 'repeat' }>, next: number): number {
    let start = next;
    let required = min;
    if (max === Infinity) {
      // A part that can be empty loops behind its first copy: a first empty round must not end the loop.
      if (required > 0 || isNullable(body)) {
        start = this.loop(body, greedy, next);
        if (required === 0) return this.split(start, next, greedy);
        required--;
      } else {
        const split = this.add({ code: 'split', next: 0, other: next });
        this.patch(split, this.part(body, split), next, greedy);
        start = split;
      }
    } else {
      for (let count = min; count < max; count++) start = this.split(this.part(body, start), next, greedy);
    }
    for (let count = 0; count < required; count++) start = this.part(body, start);
    return start;
  }

  /** One copy or more. */
  private loop(body: Expression, greedy: boolean, next: number): number {
    const split = this.add({ code: 'split', next: 0, other: next });
    const start = this.part(body, split);
    this.patch(split, start, next, greedy);
    return start;
  }

  private split(preferred: number, other: number, greedy: boolean): number {
    return this.add({
      code: 'split',
      ...(greedy ? { next: preferred, other } : { next: other, other: preferred }),
    });
  }

  private patch(split: number, preferred: number, other: number, greedy: boolean): void {
    this.instructions[split] = {
      code: 'split',
      ...(greedy ? { next: preferred, other } : { next: other, other: preferred }),
    };
  }

  private add(instruction: Instruction): number {
    if (this.instructions.length >= MAX_INSTRUCTIONS) {
      throw new PatternError('expression too large', this.pattern);
    }
    return this.instructions.push(instruction) - 1;
  }
}

function isNullable(expression: Expression): boolean {
  switch (expression.kind) {
    case 'empty':
    case 'assertion':
      return true;
    case 'rune':
    case 'class':
      return false;
    case 'group':
      return isNullable(expression.body);
    case 'sequence':
      return expression.items.every(isNullable);
    case 'choice':
      return expression.items.some(isNullable);
    case 'repeat':
      return expression.min === 0 || isNullable(expression.body);
  }
}
