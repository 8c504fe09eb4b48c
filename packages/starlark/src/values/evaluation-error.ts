import type { Position } from './position.js';

/** One level of a call stack: the function and the position where it was. */
export interface StackFrame {
  /** The function's name, or `<toplevel>`. */
  name: string;
  position: Position | undefined;
}

/** The limits that end a run, and `aborted`: the caller's signal. */
export type ExceededLimit = 'steps' | 'depth' | 'memory' | 'output' | 'aborted';

/** A Starlark program failed. Built-in functions throw it without stack; the evaluator adds the frames. */
export class EvaluationError extends Error {
  override readonly name = 'EvaluationError';
  /** The call stack, outermost frame first. */
  readonly stackFrames: StackFrame[] = [];
  /** The limit that the program exceeded. */
  readonly limit: ExceededLimit | undefined;

  constructor(message: string, options: { limit?: ExceededLimit; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.limit = options.limit;
  }

  /** Where it failed: the innermost frame with a position. */
  get position(): Position | undefined {
    return this.stackFrames.findLast((frame) => frame.position !== undefined)?.position;
  }
}
