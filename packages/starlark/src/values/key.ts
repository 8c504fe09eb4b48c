import type { Thread } from './thread.js';
import { HeapValue, type Key, type Value } from './value.js';

/** Longer strings take steps when they are hashed or compared. */
export const LONG_STRING = 1024;

/** Returns the key of a value for a Map. Throws `unhashable type` for mutable values. */
export function valueKey(value: Value, thread?: Thread): Key {
  if (value instanceof HeapValue) return value.hashKey(thread);
  if (typeof value === 'string' && value.length > LONG_STRING) thread?.step(value.length >> 6);
  return value;
}
