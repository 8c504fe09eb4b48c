import { compare } from '../values/comparison.js';
import { EvaluationError } from '../values/evaluation-error.js';
import { type Int, normalizeInt } from '../values/integer.js';
import { List } from '../values/list.js';
import { Range } from '../values/range.js';
import { readingSteps } from '../values/string.js';
import type { Thread } from '../values/thread.js';
import { EMPTY_TUPLE, Tuple } from '../values/tuple.js';
import { checkPositional, unpackArguments, wantBool, wantCallable } from '../values/unpack-arguments.js';
import { HeapValue, isTrue, type Kwargs, NO_KWARGS, typeName, type Value } from '../values/value.js';
import { elementsOrUndefined, named, valueLength, wantInt, wantInt64, wantIterable } from './arguments.js';

/** Bytes that an element takes in a list or tuple. */
const ELEMENT_BYTES = 16;

export function all(thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  return !hasElement('all', false, thread, args, kwargs);
}

export function any(thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  return hasElement('any', true, thread, args, kwargs);
}

/** Reports whether an element has this truth. Takes no element after that one: an iterable may have no end. */
function hasElement(
  name: string,
  truth: boolean,
  thread: Thread,
  args: readonly Value[],
  kwargs: Kwargs,
): boolean {
  checkPositional(name, args, kwargs, 1, 1);
  const iterable = args[0] as Value;
  if (iterable instanceof Range) {
    // 0 is at most once in it.
    const zeros = iterable.contains(0) ? 1 : 0;
    return truth ? iterable.size > zeros : zeros > 0;
  }
  const iterator = iterable instanceof HeapValue ? iterable.iterator() : undefined;
  if (iterator === undefined) {
    return wantIterable(name, 1, iterable, thread).some((element) => isTrue(element) === truth);
  }
  for (let next = iterator.next(); next.done !== true; next = iterator.next()) {
    thread.step(1);
    if (isTrue(next.value) === truth) return true;
  }
  return false;
}

export function enumerate(thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('enumerate', args, kwargs, 1, 2);
  const elements = wantIterable('enumerate', 1, args[0] as Value, thread);
  const start = args.length > 1 ? wantInt64('enumerate', 2, args[1] as Value) : 0;
  thread.allocate(elements.length * ELEMENT_BYTES * 4);
  return new List(elements.map((element, index) => new Tuple([plus(start, index), element])));
}

function plus(start: Int, index: number): Int {
  return normalizeInt(BigInt.asIntN(64, BigInt(start) + BigInt(index)));
}

export function len(thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('len', args, kwargs, 1, 1);
  if (typeof args[0] === 'string') thread.step(readingSteps(args[0]));
  const length = valueLength(args[0] as Value);
  if (length === undefined) {
    throw new EvaluationError(`len: value of type ${typeName(args[0] as Value)} has no len`);
  }
  return length;
}

export function list(thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  return new List(copyElements('list', thread, args, kwargs));
}

export function tuple(thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  if (args.length === 1 && args[0] instanceof Tuple && kwargs.length === 0) return args[0];
  const items = copyElements('tuple', thread, args, kwargs);
  return items.length === 0 ? EMPTY_TUPLE : new Tuple(items);
}

export function reversed(thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('reversed', args, kwargs, 1, 1);
  return new List(copyElements('reversed', thread, args, kwargs).reverse());
}

function copyElements(name: string, thread: Thread, args: readonly Value[], kwargs: Kwargs): Value[] {
  checkPositional(name, args, kwargs, 0, 1);
  if (args.length === 0) return [];
  const elements = wantIterable(name, 1, args[0] as Value, thread);
  thread.allocate(elements.length * ELEMENT_BYTES);
  return elements.slice();
}

export const max = (thread: Thread, args: readonly Value[], kwargs: Kwargs) =>
  extremum('max', thread, args, kwargs);
export const min = (thread: Thread, args: readonly Value[], kwargs: Kwargs) =>
  extremum('min', thread, args, kwargs);

function extremum(name: 'max' | 'min', thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  if (args.length === 0) throw new EvaluationError(`${name} requires at least one positional argument`);
  const [keyArgument] = unpackArguments(name, [], kwargs, ['key?']);
  const key = keyArgument === undefined ? undefined : wantCallable(name, 'key', keyArgument);
  const iterable = args.length === 1 ? (args[0] as Value) : new Tuple([...args]);
  const elements = elementsOrUndefined(iterable, thread);
  if (elements === undefined)
    throw new EvaluationError(`${name}: ${typeName(iterable)} value is not iterable`);
  if (elements.length === 0) throw new EvaluationError(`${name}: argument is an empty sequence`);
  return whileIterating(iterable, () => {
    let best = elements[0] as Value;
    let bestKey = sortKey(best, key, thread);
    for (let index = 1; index < elements.length; index++) {
      const element = elements[index] as Value;
      const elementKey = sortKey(element, key, thread);
      const order = named(name, () => compare(elementKey, bestKey, thread, name === 'max' ? '>' : '<'));
      if (name === 'max' ? order > 0 : order < 0) {
        best = element;
        bestKey = elementKey;
      }
    }
    return best;
  });
}

export function range(_thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('range', args, kwargs, 1, 3);
  const numbers = args.map((value, index) => {
    const number = wantInt('range', index + 1, value);
    if (Number.isSafeInteger(number)) return number;
    throw new EvaluationError(`range: for parameter ${index + 1}: ${value} out of range`);
  });
  const step = numbers[2] ?? 1;
  if (step === 0) throw new EvaluationError('range: step argument must not be zero');
  const [first = 0, second] = numbers;
  return second === undefined ? new Range(0, first, 1) : new Range(first, second, step);
}

/** Sorts stably; `reverse` keeps the order of equal elements too. */
export function sorted(thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  const parameters = ['iterable', 'key?', 'reverse?'];
  const [iterable = null, keyArgument, reverseArgument] = unpackArguments('sorted', args, kwargs, parameters);
  const elements = wantIterable('sorted', 'iterable', iterable, thread);
  const key = keyArgument === undefined ? undefined : wantCallable('sorted', 'key', keyArgument);
  const reverse = reverseArgument !== undefined && wantBool('sorted', 'reverse', reverseArgument);
  thread.allocate(elements.length * ELEMENT_BYTES * 3);
  const items = elements.slice();
  const keys =
    key === undefined
      ? items
      : whileIterating(iterable, () => items.map((item) => sortKey(item, key, thread)));
  thread.step(items.length * Math.ceil(Math.log2(items.length + 1)));
  countStrings(keys, thread);
  return new List(sortByKeys(items, keys, reverse, thread));
}

/** Counts the steps for the characters of strings that a sort compares. */
function countStrings(keys: readonly Value[], thread: Thread): void {
  let characters = 0;
  for (const key of keys) if (typeof key === 'string') characters += key.length;
  thread.step((characters / 64) * Math.ceil(Math.log2(keys.length + 1)));
}

/** Beyond it, the order of UTF-16 differs from that of bytes. */
const SURROGATE = /[\ud800-\udfff]/;

const isPlainString = (value: Value) => typeof value === 'string' && !SURROGATE.test(value);

/** Sorts values whose equal ones cannot be told apart, by the engine's own order: small ints, or strings. */
function sortSimple(items: readonly Value[]): Value[] | undefined {
  if (items.every((item) => typeof item === 'number')) return Array.from(Float64Array.from(items).sort());
  if (items.every(isPlainString)) return items.slice().sort();
  return undefined;
}

function sortByKeys(
  items: readonly Value[],
  keys: readonly Value[],
  reverse: boolean,
  thread: Thread,
): Value[] {
  const simple = keys === items ? sortSimple(items) : undefined;
  if (simple !== undefined) return reverse ? simple.reverse() : simple;
  const sign = reverse ? -1 : 1;
  if (keys.every(isPlainString)) {
    const order = items.map((item, index) => ({ key: keys[index] as string, item }));
    order.sort((x, y) => (x.key < y.key ? -sign : x.key > y.key ? sign : 0));
    return order.map(({ item }) => item);
  }
  if (keys.every((key) => typeof key === 'number')) {
    const order = items.map((item, index) => [keys[index] as number, item] as const);
    return order.sort(([x], [y]) => sign * (x - y)).map(([, item]) => item);
  }
  const order = items.map((item, index) => [keys[index] as Value, item] as const);
  try {
    return order.sort(([x], [y]) => sign * compare(x, y, thread)).map(([, item]) => item);
  } catch (error) {
    throw error instanceof EvaluationError && error.limit === undefined
      ? comparisonError(keys, reverse, error, thread)
      : error;
  }
}

/** The number of elements that starlark-go sorts by insertion. */
const INSERTION_LENGTH = 20;

/**
 * Returns the error for values without order. starlark-go goes on after one, with the values as not less, and reports
 * the last: scripts and suites that expect its message get it for short lists.
 */
function comparisonError(
  keys: readonly Value[],
  reverse: boolean,
  first: EvaluationError,
  thread: Thread,
): EvaluationError {
  if (keys.length > INSERTION_LENGTH) return first;
  let last = first;
  const isLess = (x: Value, y: Value) => {
    try {
      return compare(x, y, thread) < 0;
    } catch (error) {
      if (!(error instanceof EvaluationError) || error.limit !== undefined) throw error;
      last = error;
      return false;
    }
  };
  const sorted = [...keys];
  for (let end = 1; end < sorted.length; end++) {
    for (let at = end; at > 0; at--) {
      const [before, after] = [sorted[at - 1] as Value, sorted[at] as Value];
      if (!(reverse ? isLess(before, after) : isLess(after, before))) break;
      [sorted[at - 1], sorted[at]] = [after, before];
    }
  }
  return last;
}

function sortKey(value: Value, key: HeapValue | undefined, thread: Thread): Value {
  return key === undefined ? value : (key.call(thread, [value], NO_KWARGS) as Value);
}

/** Runs code that calls functions of the script; they cannot change the iterable meanwhile. */
function whileIterating<Result>(iterable: Value, run: () => Result): Result {
  if (!(iterable instanceof HeapValue)) return run();
  iterable.countIterators(1);
  try {
    return run();
  } finally {
    iterable.countIterators(-1);
  }
}

export function zip(thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  if (kwargs.length > 0) throw new EvaluationError('zip does not accept keyword arguments');
  // Of a range, only what fits the shortest.
  const shortest = args.reduce<number>(
    (least, value) => Math.min(least, valueLength(value) ?? least),
    Number.POSITIVE_INFINITY,
  );
  const columns = args.map((value, index) => {
    const isLong = value instanceof Range && value.size > shortest;
    const elements = elementsOrUndefined(isLong ? value.slice(0, shortest, 1) : value, thread);
    if (elements !== undefined) return elements;
    throw new EvaluationError(`zip: argument #${index + 1} is not iterable: ${typeName(value)}`);
  });
  const rows = columns.reduce((least, { length }) => Math.min(least, length), columns[0]?.length ?? 0);
  thread.allocate(rows * (columns.length + 2) * ELEMENT_BYTES);
  return new List(
    Array.from({ length: rows }, (_, row) => new Tuple(columns.map((column) => column[row] as Value))),
  );
}
