import { compare } from '../values/comparison.js';
import { equals } from '../values/equality.js';
import { LONG_STRING } from '../values/key.js';
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
  return compare(x, y, thread, '<') < 0;
}

/** `x <= y`. */
export function isLessOrEqual(thread: Thread, x: Value, y: Value): boolean {
  return compare(x, y, thread, '<=') <= 0;
}

/** `x > y`. */
export function isGreater(thread: Thread, x: Value, y: Value): boolean {
  return compare(x, y, thread, '>') > 0;
}

/** `x >= y`. */
export function isGreaterOrEqual(thread: Thread, x: Value, y: Value): boolean {
  return compare(x, y, thread, '>=') >= 0;
}
