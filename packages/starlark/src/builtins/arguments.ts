import { EvaluationError } from '../values/evaluation-error.js';
import { type Int, isInt } from '../values/integer.js';
import { stringLength } from '../values/string.js';
import type { Thread } from '../values/thread.js';
import { HeapValue, type Kwargs, typeName, type Value } from '../values/value.js';

/** Throws unless a function got no keyword arguments and exactly one positional one, which it returns. */
export function soleArgument(name: string, args: readonly Value[], kwargs: Kwargs, want: string): Value {
  if (kwargs.length > 0) throw new EvaluationError(`${name} does not accept keyword arguments`);
  if (args.length !== 1) throw new EvaluationError(`${name}: got ${args.length} arguments, want ${want}`);
  return args[0] as Value;
}

/** Which parameter a message is about: its number from 1, or its name. */
export type Parameter = number | string;

function parameterError(name: string, parameter: Parameter, problem: string): EvaluationError {
  return new EvaluationError(`${name}: for parameter ${parameter}: ${problem}`);
}

/** Returns an int of 64 bits; those that are not safe integers are returned as the nearest double. */
export function wantInt(name: string, parameter: Parameter, value: Value): number {
  return Number(wantInt64(name, parameter, value));
}

export function wantInt64(name: string, parameter: Parameter, value: Value): Int {
  if (!isInt(value)) throw parameterError(name, parameter, `got ${typeName(value)}, want int`);
  if (typeof value === 'bigint' && BigInt.asIntN(64, value) !== value) {
    throw parameterError(name, parameter, `${value} out of range (want value in signed 64-bit range)`);
  }
  return value;
}

/** Returns the elements of an iterable, which may be its own array, and counts a step for each. */
export function wantIterable(
  name: string,
  parameter: Parameter,
  value: Value,
  thread: Thread,
): readonly Value[] {
  const elements = elementsOrUndefined(value, thread);
  if (elements !== undefined) return elements;
  throw parameterError(name, parameter, `got ${typeName(value)}, want iterable`);
}

/** Returns the elements of an iterable, or undefined for a value that is not one. */
export function elementsOrUndefined(value: Value, thread: Thread): readonly Value[] | undefined {
  if (!(value instanceof HeapValue)) return undefined;
  const elements = value.elements(thread);
  if (elements !== undefined) thread.step(elements.length);
  return elements;
}

/** Returns an int of 32 bits. */
export function toInt32(value: Value): number {
  if (!isInt(value)) throw new EvaluationError(`got ${typeName(value)}, want int`);
  if (typeof value === 'bigint' || (value | 0) !== value) throw new EvaluationError(`${value} out of range`);
  return value;
}

/** Runs code whose errors get the name of the function as prefix. */
export function named<Result>(name: string, run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    if (error instanceof EvaluationError && error.limit === undefined && error.stackFrames.length === 0) {
      throw new EvaluationError(`${name}: ${error.message}`);
    }
    throw error;
  }
}

/** Returns `len(value)`, or undefined for a value without length. The length of a string is in bytes. */
export function valueLength(value: Value): number | undefined {
  if (typeof value === 'string') return stringLength(value);
  return value instanceof HeapValue ? value.length() : undefined;
}

/**
 * Returns start and end of a part of a sequence, as methods take them: None is the default, negative indexes count from
 * the end, and those out of range mean the nearest end.
 */
export function indexRange(
  start: Value | undefined,
  end: Value | undefined,
  length: number,
): [start: number, end: number] {
  return [indexOr(start, length, 0, 'start'), indexOr(end, length, length, 'end')];
}

function indexOr(value: Value | undefined, length: number, fallback: number, which: string): number {
  if (value === undefined || value === null) return fallback;
  let index: number;
  try {
    index = toInt32(value);
  } catch (error) {
    throw error instanceof EvaluationError
      ? new EvaluationError(`invalid ${which} index: ${error.message}`)
      : error;
  }
  return Math.min(Math.max(index < 0 ? index + length : index, 0), length);
}
