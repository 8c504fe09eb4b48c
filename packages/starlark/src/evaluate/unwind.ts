import { EvaluationError } from '../values/evaluation-error.js';
import type { FunctionCode } from '../values/function-code.js';
import type { Position } from '../values/position.js';
import type { Thread } from '../values/thread.js';

/** Returns the error with which a function of the program ends, after adding its stack frame. */
export function unwind(
  error: unknown,
  thread: Thread,
  code: FunctionCode,
  position: Position,
  sourceLine: string | undefined,
): EvaluationError {
  thread.depth--;
  code.active = false;
  const failure = error instanceof EvaluationError ? error : fromJavaScript(error);
  failure.stackFrames.unshift({ name: code.name, position, sourceLine });
  return failure;
}

/** Returns the Starlark error for an error of the JavaScript engine. */
function fromJavaScript(error: unknown): EvaluationError {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof RangeError) {
    return message.includes('call stack')
      ? new EvaluationError('Starlark stack overflow: too many nested calls', { limit: 'depth' })
      : new EvaluationError(`too much memory: ${message}`, { limit: 'memory' });
  }
  return new EvaluationError(`internal error: ${message}`, { cause: error });
}
