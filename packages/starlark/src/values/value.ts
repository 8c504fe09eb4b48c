/**
 * Starlark values, their operations, and the limits of a run.
 *
 * @module
 */

import { EvaluationError } from './evaluation-error.js';
import type { Thread } from './thread.js';

/**
 * A Starlark value.
 *
 * - None is `null`; `undefined` is never a value.
 * - An int is a `number` when it is a safe integer (never `-0`), else a `bigint`. `normalizeInt` keeps this.
 * - A float is a `StarlarkFloat`, so that a `number` is always an int.
 * - A string is a JavaScript string whose elements are UTF-8 bytes, see `string.ts`.
 * - All other values are subclasses of `HeapValue`.
 *
 * No value is a plain JavaScript object: scripts cannot reach a JavaScript property or prototype by name.
 */
export type Value = null | boolean | number | bigint | string | HeapValue;

/** Keyword arguments of a call, in order. */
export type Kwargs = readonly (readonly [string, Value])[];

export const NO_KWARGS: Kwargs = Object.freeze([]) as Kwargs;

/** A value as key of a JavaScript Map. Two hashable values are equal if and only if their keys are the same. */
export type Key = null | boolean | number | bigint | string | HeapValue;

/** Binary operators, as written. */
export type BinaryOperator = '+' | '-' | '*' | '/' | '//' | '%' | '&' | '|' | '^' | '<<' | '>>' | 'in';

/** Operators that order values, as written. */
export type ComparisonOperator = '<' | '<=' | '>' | '>=';

/** Where a value writes its `repr`. */
export interface ReprWriter {
  write(text: string): void;
  writeValue(value: Value): void;
  /** Writes values separated by commas. */
  writeValues(values: Iterable<Value>): void;
  /** Runs `write`, but writes `...` if the value contains itself and is already being written. */
  writeInside(value: HeapValue, write: () => void): void;
}

/** A value that is not None, a bool, an int or a string. A subclass overrides what its type can do. */
export abstract class HeapValue {
  /** The result of `type(x)`. */
  abstract get typeName(): string;

  /** Writes `repr(x)`. */
  abstract writeRepr(writer: ReprWriter): void;

  truth(): boolean {
    return true;
  }

  /**
   * Returns the key for a dict or set, and counts what a long one takes; the default is an error: only some types are
   * hashable.
   */
  hashKey(_thread?: Thread): Key {
    throw new EvaluationError(`unhashable type: ${this.typeName}`);
  }

  /** Reports whether this equals `other`, another value of the same type. `depth` counts down to 0. */
  equalTo(other: HeapValue, _thread: Thread | undefined, _depth: number): boolean {
    return this === other;
  }

  /**
   * Orders this and `other`, a value of the same type: negative, 0 or positive. `undefined`: not ordered. The operator
   * is for messages, and for types that are ordered in part.
   */
  compareTo(
    _other: HeapValue,
    _thread: Thread | undefined,
    _depth: number,
    _operator: ComparisonOperator,
  ): number | undefined {
    return undefined;
  }

  /** Makes this value immutable and appends the values that it contains to `queue`. */
  freezeInto(_queue: Value[]): void {}

  /** Returns the number of elements, or `undefined` for a value without length. */
  length(): number | undefined {
    return undefined;
  }

  /** Returns the elements without copying where possible, or `undefined` if the value is not iterable. */
  elements(_thread: Thread | undefined): readonly Value[] | undefined {
    return undefined;
  }

  /** Returns an iterator for a value whose elements are not stored; `for` loops prefer it to `elements`. */
  iterator(): Iterator<Value> | undefined {
    return undefined;
  }

  /** Returns the element at an index from 0 to length - 1, or `undefined` for a value without index. */
  at(_index: number, _thread?: Thread): Value | undefined {
    return undefined;
  }

  /** Returns the elements from `start` to before `end` by `step`, all in range; `undefined` if not supported. */
  slice(_start: number, _end: number, _step: number, _thread: Thread | undefined): Value | undefined {
    return undefined;
  }

  /** Returns `element in this`, or `undefined` if not supported. */
  contains(_element: Value, _thread: Thread | undefined): boolean | undefined {
    return undefined;
  }

  /** Forbids (+1) or allows (-1) mutation while an iteration runs. */
  countIterators(_change: 1 | -1): void {}

  /** Returns a field that is not a method of the type, or `undefined`. */
  attribute(_name: string): Value | undefined {
    return undefined;
  }

  /** Sets a field. Returns `false` if the value has no fields that can be set. */
  setAttribute(_name: string, _value: Value): boolean {
    return false;
  }

  /** Returns the names of the fields, without methods. */
  attributeNames(): readonly string[] {
    return [];
  }

  /** Returns `this op other`, or `other op this` if `reversed`; `undefined` if the type does not support it. */
  binary(
    _operator: BinaryOperator,
    _other: Value,
    _reversed: boolean,
    _thread: Thread | undefined,
  ): Value | undefined {
    return undefined;
  }

  /** Returns `-x`, `+x` or `~x`, or `undefined`. */
  unary(_operator: '-' | '+' | '~'): Value | undefined {
    return undefined;
  }

  /** Calls the value, or returns `undefined` if it is not callable. */
  call(_thread: Thread, _args: readonly Value[], _kwargs: Kwargs): Value | undefined {
    return undefined;
  }

  get callable(): boolean {
    return false;
  }
}

/** Returns the result of `type(value)`. */
export function typeName(value: Value): string {
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'number':
    case 'bigint':
      return 'int';
    case 'boolean':
      return 'bool';
    default:
      return value === null ? 'NoneType' : value.typeName;
  }
}

/** Reports whether a value counts as true: not None, False, zero or empty. */
export function isTrue(value: Value): boolean {
  switch (typeof value) {
    case 'boolean':
      return value;
    case 'number':
      return value !== 0;
    case 'string':
      return value !== '';
    case 'bigint':
      return true;
    default:
      return value?.truth() ?? false;
  }
}

/** Makes a value and all that it contains immutable. Deep and cyclic values are fine. */
export function freeze(value: Value): void {
  const queue: Value[] = [value];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    if (next instanceof HeapValue) next.freezeInto(queue);
  }
}

/** Calls a value: a function of the script, a built-in function, or a bound method. */
export function call(
  thread: Thread,
  callee: Value,
  args: readonly Value[],
  kwargs: Kwargs = NO_KWARGS,
): Value {
  thread.step(1);
  const result = callee instanceof HeapValue ? callee.call(thread, args, kwargs) : undefined;
  if (result === undefined) throw new EvaluationError(`invalid call of non-function (${typeName(callee)})`);
  return result;
}

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
