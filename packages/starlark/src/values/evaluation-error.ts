import { formatPosition, type Position } from './position.js';

/** One level of a call stack: the function and the position where it was. */
export interface StackFrame {
  /** The function's name, or `<toplevel>`. */
  name: string;
  position: Position | undefined;
  /** The line of the source. */
  sourceLine?: string | undefined;
}

/** The limits that end a run, and `aborted`: the caller's signal. */
export type ExceededLimit = 'steps' | 'depth' | 'memory' | 'output' | 'aborted';

/** A Starlark program failed. Built-in functions throw it without stack; the evaluator adds the frames. */
export class EvaluationError extends Error {
  override readonly name = 'EvaluationError';
  /** The call stack, outermost frame first. */
  readonly stackFrames: StackFrame[] = [];
  /** The built-in function that failed, if it was one. */
  builtin: string | undefined;
  /** The limit that the program exceeded. */
  readonly limit: ExceededLimit | undefined;

  constructor(message: string, options: { limit?: ExceededLimit | undefined; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.limit = options.limit;
  }

  /** Where it failed: the innermost frame with a position. */
  get position(): Position | undefined {
    return this.stackFrames.findLast((frame) => frame.position !== undefined)?.position;
  }

  /** Returns the call stack, the message, and the line that failed. */
  format(): string {
    const where = this.builtin === undefined ? '' : ` in ${this.builtin}`;
    const failed = this.stackFrames.at(-1);
    return [
      'Traceback (most recent call last):',
      ...this.stackFrames.map(
        ({ name, position }) => `  ${position ? `${formatPosition(position)}: ` : ''}in ${name}`,
      ),
      `Error${where}: ${this.message}`,
      ...excerpt(failed?.sourceLine, failed?.position?.column),
    ].join('\n');
  }
}

/** Returns a line of the source and a mark below a column. Long lines are cut. */
export function excerpt(line: string | undefined, column: number | undefined): string[] {
  if (line === undefined || column === undefined) return [];
  const characters = [...line].map((character) => (character < ' ' ? ' ' : character));
  const start = Math.max(0, column - 60);
  const shown = characters.slice(start, start + 120).join('');
  return [`  | ${shown}`, `  | ${' '.repeat(column - 1 - start)}^`];
}
