import { Dict } from '../values/dict.js';
import { EvaluationError } from '../values/evaluation-error.js';
import { List } from '../values/list.js';
import { Range } from '../values/range.js';
import { repr } from '../values/repr.js';
import type { Thread } from '../values/thread.js';
import { Tuple } from '../values/tuple.js';
import { HeapValue, typeName, type Value } from '../values/value.js';

/** A loop over a value that gives its elements one after the other. */
export class LazyLoop {
  constructor(
    readonly source: HeapValue,
    readonly iterator: Iterator<Value>,
  ) {}
}

/** What a loop runs over: an array, a range, or an iterator. */
export type LoopSource = readonly Value[] | Range | LazyLoop;

/** Starts a loop: the value cannot be changed until `endLoop`. Generated code runs over ranges itself. */
export function startLoop(thread: Thread, value: Value): LoopSource {
  if (value instanceof List) {
    value.iterators++;
    return value.items;
  }
  if (value instanceof Range) return value;
  if (value instanceof Tuple) return value.items;
  if (value instanceof HeapValue) {
    const iterator = value.iterator();
    if (iterator !== undefined) {
      value.countIterators(1);
      return new LazyLoop(value, iterator);
    }
    const elements = value.elements(thread);
    if (elements !== undefined) {
      if (value instanceof Dict) thread.allocate(elements.length * 8);
      value.countIterators(1);
      return elements;
    }
  }
  throw new EvaluationError(`${typeName(value)} value is not iterable`);
}

/** Ends the loop over a value. */
export function endLoop(value: Value): void {
  if (value instanceof HeapValue) value.countIterators(-1);
}

/** Ends a loop that an error interrupted; `undefined` if it was not started. */
export function abandonLoop(value: Value | undefined): void {
  if (value !== undefined) endLoop(value);
}

/** Returns the items to assign to `count` targets. */
export function unpack(thread: Thread, value: Value, count: number): readonly Value[] {
  const items =
    value instanceof List || value instanceof Tuple
      ? value.items
      : value instanceof HeapValue
        ? value.elements(thread)
        : undefined;
  if (items === undefined) throw new EvaluationError(`got ${typeName(value)} in sequence assignment`);
  if (items.length === count) return items;
  const problem = items.length > count ? 'many' : 'few';
  throw new EvaluationError(`too ${problem} values to unpack (got ${items.length}, want ${count})`);
}

/** Adds an entry of a dict literal, whose keys differ. */
export function addEntry(thread: Thread, dict: Dict, key: Value, value: Value): void {
  const { size } = dict;
  thread.allocate(64);
  dict.set(key, value, thread);
  if (dict.size === size) throw new EvaluationError(`duplicate key: ${repr(key)}`);
}

/** Sets an entry of a dict comprehension. */
export function setEntry(thread: Thread, dict: Dict, key: Value, value: Value): void {
  thread.allocate(64);
  dict.set(key, value, thread);
}

/** How generated code gets the elements: 0 by counting, 1 from an array, 2 from an iterator. */
export function loopKind(source: LoopSource): 0 | 1 | 2 {
  if (source instanceof Range) return 0;
  return source instanceof LazyLoop ? 2 : 1;
}

export function loopLength(source: LoopSource): number {
  if (source instanceof Range) return source.size;
  return source instanceof LazyLoop ? Number.POSITIVE_INFINITY : source.length;
}

/** Returns the next element of an iterator, or `undefined` at its end. */
export function nextElement(source: LazyLoop): Value | undefined {
  const { done, value } = source.iterator.next();
  return done ? undefined : value;
}
