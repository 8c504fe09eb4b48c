import { HeapValue, type Value } from './value.js';

/** Makes a value and all that it contains immutable. Deep and cyclic values are fine. */
export function freeze(value: Value): void {
  const queue: Value[] = [value];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    if (next instanceof HeapValue) next.freezeInto(queue);
  }
}
