/**
 * Converts values between JavaScript and Starlark.
 *
 * @module
 */

import { Bytes } from '../values/bytes.js';
import { Dict } from '../values/dict.js';
import { EvaluationError } from '../values/evaluation-error.js';
import { StarlarkFloat } from '../values/float.js';
import { normalizeInt } from '../values/integer.js';
import { List } from '../values/list.js';
import { stringFromJs } from '../values/string.js';
import type { Thread } from '../values/thread.js';
import { HeapValue, type Value } from '../values/value.js';

/** Deeper values are errors. */
export const MAX_CONVERSION_DEPTH = 500;

/**
 * Returns the Starlark value of a JavaScript one: of null and undefined None, of integral numbers and bigints ints, of
 * other numbers floats, of arrays lists, of Maps and plain objects dicts in the same order, of byte arrays bytes. A
 * Starlark value is returned as it is. Only own enumerable properties are read.
 */
export function fromJavaScript(value: unknown, thread?: Thread): Value {
  return convert(value, thread, 0);
}

function convert(value: unknown, thread: Thread | undefined, depth: number): Value {
  thread?.allocate(16);
  switch (typeof value) {
    case 'string':
      thread?.allocate(value.length);
      return stringFromJs(value);
    case 'number':
      return Number.isSafeInteger(value) ? value + 0 : new StarlarkFloat(value);
    case 'bigint':
      return normalizeInt(value);
    case 'boolean':
      return value;
    case 'undefined':
      return null;
    case 'object':
      return value === null || value instanceof HeapValue ? value : convertObject(value, thread, depth);
    default:
      throw new EvaluationError(`cannot convert a JavaScript ${typeof value}`);
  }
}

function convertObject(value: object, thread: Thread | undefined, depth: number): Value {
  if (depth >= MAX_CONVERSION_DEPTH) throw new EvaluationError('value is nested too deeply to convert');
  if (Array.isArray(value)) return new List(value.map((item) => convert(item, thread, depth + 1)));
  if (value instanceof Uint8Array) return new Bytes(value.slice());
  const dict = new Dict();
  for (const [key, item] of value instanceof Map ? value : Object.entries(value)) {
    dict.set(convert(key, thread, depth + 1), convert(item, thread, depth + 1));
  }
  return dict;
}
