import { HeapValue, type Key, type Value } from './value.js';

/** Returns the key of a value for a Map. Throws `unhashable type` for mutable values. */
export function keyOf(value: Value): Key {
  return value instanceof HeapValue ? value.hashKey() : value;
}
