import { EvaluationError } from './evaluation-error.js';
import type { Thread } from './thread.js';
import { typeName } from './type-name.js';
import { HeapValue, type Kwargs, NO_KWARGS, type Value } from './value.js';

/** Calls a value: a function of the script, a built-in function, or a bound method. */
export function call(
  thread: Thread,
  callee: Value,
  args: readonly Value[],
  kwargs: Kwargs = NO_KWARGS,
): Value {
  thread.step(1);
  const result = callee instanceof HeapValue ? callee.call(thread, args, kwargs) : undefined;
  if (result === undefined) throw new EvaluationError(`invalid call of non-function (${typeName(callee)})`);
  return result;
}
