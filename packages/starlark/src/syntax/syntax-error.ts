import { formatPosition, type Position } from '../values/position.js';

/** One thing wrong with a program, found before it runs. */
export interface SyntaxProblem {
  message: string;
  position: Position;
}

/** A program cannot be parsed or its names cannot be resolved. */
export class StarlarkSyntaxError extends Error {
  override readonly name = 'StarlarkSyntaxError';

  /** The parser stops at its first problem; the resolver reports all. */
  constructor(readonly problems: readonly [SyntaxProblem, ...SyntaxProblem[]]) {
    super(problems[0].message);
  }

  get position(): Position {
    return this.problems[0].position;
  }

  /** Returns `file:line:column: message`, a line for each problem. */
  override toString(): string {
    return this.problems.map(({ position, message }) => `${formatPosition(position)}: ${message}`).join('\n');
  }
}
