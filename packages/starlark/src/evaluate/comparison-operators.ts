import { compare } from '../values/comparison.js';
import { equals } from '../values/equality.js';
import { LONG_STRING } from '../values/key.js';
import { StarlarkSet } from '../values/set.js';
import type { Thread } from '../values/thread.js';
import type { Value } from '../values/value.js';

/** `x == y`. */
export function isEqual(thread: Thread, x: Value, y: Value): boolean {
  if (typeof x === 'string') {
    if (x.length > LONG_STRING && typeof y === 'string' && y.length === x.length) thread.step(x.length >> 8);
    return x === y;
  }
  if (typeof x === 'boolean' || x === null) return x === y;
  return equals(x, y, thread);
}

/** `x < y`. */
export function isLess(thread: Thread, x: Value, y: Value): boolean {
  if (x instanceof StarlarkSet && y instanceof StarlarkSet) return isSubset(thread, x, y, true);
  return compare(x, y, thread, '<') < 0;
}

/** `x <= y`. */
export function isLessOrEqual(thread: Thread, x: Value, y: Value): boolean {
  if (x instanceof StarlarkSet && y instanceof StarlarkSet) return isSubset(thread, x, y, false);
  return compare(x, y, thread, '<=') <= 0;
}

/** `x > y`. */
export function isGreater(thread: Thread, x: Value, y: Value): boolean {
  if (x instanceof StarlarkSet && y instanceof StarlarkSet) return isSubset(thread, y, x, true);
  return compare(x, y, thread, '>') > 0;
}

/** `x >= y`. */
export function isGreaterOrEqual(thread: Thread, x: Value, y: Value): boolean {
  if (x instanceof StarlarkSet && y instanceof StarlarkSet) return isSubset(thread, y, x, false);
  return compare(x, y, thread, '>=') >= 0;
}

function isSubset(thread: Thread, x: StarlarkSet, y: StarlarkSet, proper: boolean): boolean {
  thread.step(x.size);
  return x.isSubsetOf(y) && (!proper || x.size < y.size);
}
