import { sliceBytes } from '../values/bytes.js';
import { Dict } from '../values/dict.js';
import { EvaluationError } from '../values/evaluation-error.js';
import { isInt } from '../values/integer.js';
import { List } from '../values/list.js';
import { repr } from '../values/repr.js';
import { sliceLength } from '../values/sequence.js';
import { StarlarkSet } from '../values/set.js';
import {
  decodeString,
  encodeString,
  readingSteps,
  sliceString,
  stringByteAt,
  stringLength,
} from '../values/string.js';
import type { Thread } from '../values/thread.js';
import { Tuple } from '../values/tuple.js';
import { HeapValue, typeName, type Value } from '../values/value.js';

const MAX_INDEX = 0x7fff_ffff;

/** Returns an index as a number. The message for others is Go's. */
function asIndex(value: Value): number {
  if (!isInt(value)) throw new EvaluationError(`got ${typeName(value)}, want int`);
  if (typeof value === 'number' && Math.abs(value) <= MAX_INDEX) return value;
  throw new EvaluationError(`${value} out of range`);
}

function outOfRange(index: number, length: number, x: Value): never {
  const type = typeName(x);
  throw new EvaluationError(
    length === 0
      ? `index ${index} out of range: empty ${type}`
      : `${type} index ${index} out of range [${-length}:${length - 1}]`,
  );
}

/** Returns the length of a value that has elements by index, or `undefined`. */
function indexedLength(thread: Thread, x: Value): number | undefined {
  if (typeof x === 'string') {
    thread.step(readingSteps(x));
    return stringLength(x);
  }
  return x instanceof HeapValue && !(x instanceof StarlarkSet) ? x.length() : undefined;
}

/** `x[key]`. */
export function getIndex(thread: Thread, x: Value, key: Value): Value {
  if (x instanceof List || x instanceof Tuple) {
    const item = typeof key === 'number' ? x.items[key] : undefined;
    if (item !== undefined) return item;
  }
  if (x instanceof Dict) {
    const value = x.get(key, thread);
    if (value === undefined) {
      throw new EvaluationError(`key ${repr(key)} not in dict`);
    }
    return value;
  }
  const length = indexedLength(thread, x);
  if (length !== undefined) {
    const index = indexIn(x, key, length);
    const element = typeof x === 'string' ? stringByteAt(x, index) : (x as HeapValue).at(index, thread);
    if (element !== undefined) return element;
  }
  throw new EvaluationError(`unhandled index operation ${typeName(x)}[${typeName(key)}]`);
}

/** Returns an index from the start, in range. */
function indexIn(x: Value, key: Value, length: number): number {
  let index: number;
  try {
    index = asIndex(key);
  } catch (error) {
    throw new EvaluationError(`${typeName(x)} index: ${(error as Error).message}`);
  }
  const fromStart = index < 0 ? index + length : index;
  if (fromStart < 0 || fromStart >= length) outOfRange(index, length, x);
  return fromStart;
}

/** `x[key] = value`. */
export function setIndex(thread: Thread, x: Value, key: Value, value: Value): void {
  if (x instanceof Dict) {
    x.checkMutable('insert into');
    thread.allocate(64);
    x.set(key, value, thread);
  } else if (x instanceof List) {
    const index = asIndex(key);
    const fromStart = index < 0 ? index + x.items.length : index;
    if (fromStart < 0 || fromStart >= x.items.length) outOfRange(index, x.items.length, x);
    x.checkMutable('assign to element of');
    x.items[fromStart] = value;
  } else {
    throw new EvaluationError(`${typeName(x)} value does not support item assignment`);
  }
}

/** `x[from:to:step]`; None where a part is not given. */
export function getSlice(thread: Thread, x: Value, from: Value, to: Value, step: Value): Value {
  const length = indexedLength(thread, x);
  if (length === undefined || x instanceof Dict) {
    throw new EvaluationError(`invalid slice operand ${typeName(x)}`);
  }
  const stride = step === null ? 1 : sliceNumber('slice step', step);
  if (stride === 0) throw new EvaluationError('zero is not a valid slice step');
  const position = (name: string, value: Value, otherwise: number) => {
    if (value === null) return otherwise;
    const index = sliceNumber(`${name} index`, value);
    return index < 0 ? index + length : index;
  };
  const clamp = (value: number, low: number, high: number) => Math.max(low, Math.min(value, high));
  let start: number;
  let end: number;
  if (stride > 0) {
    start = clamp(position('start', from, 0), 0, length);
    end = Math.max(start, clamp(position('end', to, length), 0, length));
  } else {
    start = Math.min(position('start', from, length - 1), length - 1);
    end = Math.max(position('end', to, -1), -1);
    start = Math.max(start, end);
  }
  if (typeof x === 'string') return sliceText(thread, x, start, end, stride);
  const result = (x as HeapValue).slice(start, end, stride, thread);
  if (result === undefined) throw new EvaluationError(`invalid slice operand ${typeName(x)}`);
  return result;
}

function sliceNumber(what: string, value: Value): number {
  try {
    return asIndex(value);
  } catch (error) {
    throw new EvaluationError(`invalid ${what}: ${(error as Error).message}`);
  }
}

function sliceText(thread: Thread, text: string, start: number, end: number, step: number): string {
  const size = sliceLength(start, end, step);
  thread.allocate(size + 16);
  thread.step(size >> 6);
  if (step === 1) return sliceString(text, start, end);
  return decodeString(sliceBytes(encodeString(text), start, end, step));
}

/** `x.name = value`. */
export function setAttribute(x: Value, name: string, value: Value): void {
  if (x instanceof HeapValue && x.setAttribute(name, value)) return;
  throw new EvaluationError(`can't assign to .${name} field of ${typeName(x)}`);
}
