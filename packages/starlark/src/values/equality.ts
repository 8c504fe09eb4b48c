import { EvaluationError } from './evaluation-error.js';
import { StarlarkFloat } from './float.js';
import { compareIntToDouble, isInt } from './integer.js';
import { LONG_STRING } from './key.js';
import type { Thread } from './thread.js';
import { HeapValue, type Value } from './value.js';

/** Deeper comparisons are errors: a value may contain itself. */
export const MAX_COMPARE_DEPTH = 100;

/** Reports whether `x == y`. Counts a step for each element compared. */
export function equals(x: Value, y: Value, thread?: Thread, depth = MAX_COMPARE_DEPTH): boolean {
  if (typeof x === 'string') {
    if (x.length > LONG_STRING) thread?.step(x.length >> 8);
    return x === y;
  }
  if (x === y) return !(x instanceof HeapValue) || equalHeapValues(x, x, thread, depth);
  if (x instanceof HeapValue) {
    if (y instanceof HeapValue) return equalHeapValues(x, y, thread, depth);
    return x instanceof StarlarkFloat && isInt(y) && compareIntToDouble(y, x.value) === 0;
  }
  return y instanceof StarlarkFloat && isInt(x) && compareIntToDouble(x, y.value) === 0;
}

function equalHeapValues(x: HeapValue, y: HeapValue, thread: Thread | undefined, depth: number): boolean {
  if (x.typeName !== y.typeName || x.constructor !== y.constructor) return false;
  if (depth <= 0) throw new EvaluationError('comparison exceeded maximum recursion depth');
  thread?.step(1);
  return x.equalTo(y, thread, depth - 1);
}
