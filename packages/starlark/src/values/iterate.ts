import { EvaluationError } from './evaluation-error.js';
import type { Thread } from './thread.js';
import { typeName } from './type-name.js';
import { HeapValue, type Value } from './value.js';

/**
 * Returns the elements of an iterable value; throws if it is not one. The array may be the value's own: do not change
 * it, and copy it before calling a function of the script. Use `iterate` where a script's function runs in between.
 */
export function listElements(value: Value, thread?: Thread): readonly Value[] {
  const elements = value instanceof HeapValue ? value.elements(thread) : undefined;
  if (elements === undefined) throw new EvaluationError(`got ${typeName(value)}, want iterable`);
  thread?.step(elements.length);
  return elements;
}

/** Reports whether a `for` loop accepts the value. */
export function isIterable(value: Value): value is HeapValue {
  if (!(value instanceof HeapValue)) return false;
  const { elements, iterator } = HeapValue.prototype;
  return value.elements !== elements || value.iterator !== iterator;
}

/** Calls `visit` with each element, while the value cannot be mutated. `visit` returns `false` to stop. */
export function forEach(
  value: Value,
  visit: (element: Value, index: number) => boolean | undefined,
  thread?: Thread,
): void {
  const elements = listElements(value, thread);
  const iterable = value as HeapValue;
  iterable.countIterators(1);
  try {
    for (let i = 0; i < elements.length; i++) if (visit(elements[i]!, i) === false) break;
  } finally {
    iterable.countIterators(-1);
  }
}
