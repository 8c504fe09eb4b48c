import { stringLength } from '../values/string.js';
import { HeapValue, type Value } from '../values/value.js';

/** Returns `len(value)`, or undefined for a value without length. The length of a string is in bytes. */
export function valueLength(value: Value): number | undefined {
  if (typeof value === 'string') return stringLength(value);
  return value instanceof HeapValue ? value.length() : undefined;
}
