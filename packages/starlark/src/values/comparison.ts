import { MAX_COMPARE_DEPTH } from './equality.js';
import { EvaluationError } from './evaluation-error.js';
import { StarlarkFloat } from './float.js';
import { compareIntToDouble, isInt } from './integer.js';
import { LONG_STRING } from './key.js';
import { compareStrings } from './string.js';
import type { Thread } from './thread.js';
import { type ComparisonOperator, HeapValue, typeName, type Value } from './value.js';

/** Orders two values: negative, 0 or positive. Throws for types without order; `operator` is for the message. */
export function compare(
  x: Value,
  y: Value,
  thread?: Thread,
  operator: ComparisonOperator = '<',
  depth = MAX_COMPARE_DEPTH,
): number {
  if (typeof x === 'string' && typeof y === 'string') {
    if (x.length > LONG_STRING && y.length > LONG_STRING) thread?.step(Math.min(x.length, y.length) >> 4);
    return compareStrings(x, y);
  }
  if (isInt(x)) {
    if (isInt(y)) return x < y ? -1 : x > y ? 1 : 0;
    if (y instanceof StarlarkFloat) return compareIntToDouble(x, y.value);
  } else if (x instanceof HeapValue) {
    if (y instanceof HeapValue && x.constructor === y.constructor) {
      if (depth <= 0) throw new EvaluationError('comparison exceeded maximum recursion depth');
      thread?.step(1);
      const order = x.compareTo(y, thread, depth - 1, operator);
      if (order !== undefined) return order;
    } else if (x instanceof StarlarkFloat && isInt(y)) {
      return -compareIntToDouble(y, x.value);
    }
  } else if (typeof x === 'boolean' && typeof y === 'boolean') {
    return Number(x) - Number(y);
  }
  throw new EvaluationError(`${typeName(x)} ${operator} ${typeName(y)} not implemented`);
}
