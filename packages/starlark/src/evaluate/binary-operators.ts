import { toByteString } from '../builtins/byte-string.js';
import { formatPercent } from '../builtins/percent-format.js';
import { Bytes } from '../values/bytes.js';
import { Dict } from '../values/dict.js';
import { EvaluationError } from '../values/evaluation-error.js';
import { StarlarkFloat } from '../values/float.js';
import { type Int, intToDouble, isInt } from '../values/integer.js';
import { List } from '../values/list.js';
import { indexOfPart } from '../values/search.js';
import { StarlarkSet } from '../values/set.js';
import { concatStrings, isAscii } from '../values/string.js';
import type { Thread } from '../values/thread.js';
import { Tuple } from '../values/tuple.js';
import { type BinaryOperator, HeapValue, typeName, type Value } from '../values/value.js';
import {
  addInts,
  bitwiseInts,
  divideInts,
  floorDivideInts,
  moduloInts,
  multiplyInts,
  shiftInt,
  subtractInts,
} from './integer-operators.js';
import { repeat } from './repeat.js';

/** Returns `x op y` by the types' own definition, or throws `unknown binary op`. */
function fallBack(thread: Thread, operator: BinaryOperator, x: Value, y: Value): Value {
  const result =
    (x instanceof HeapValue ? x.binary(operator, y, false, thread) : undefined) ??
    (y instanceof HeapValue ? y.binary(operator, x, true, thread) : undefined);
  if (result !== undefined) return result;
  throw new EvaluationError(`unknown binary op: ${typeName(x)} ${operator} ${typeName(y)}`);
}

/** Returns both operands as doubles if one is a float and the other a number, else `undefined`. */
function doubles(x: Value, y: Value): [number, number] | undefined {
  if (x instanceof StarlarkFloat) {
    if (y instanceof StarlarkFloat) return [x.value, y.value];
    return isInt(y) ? [x.value, intToDouble(y)] : undefined;
  }
  return y instanceof StarlarkFloat && isInt(x) ? [intToDouble(x), y.value] : undefined;
}

/** Returns the float of an operation on doubles, or `undefined` if the operands are not numbers. */
function float(x: Value, y: Value, operation: (a: number, b: number) => number): Value | undefined {
  const operands = doubles(x, y);
  return operands === undefined ? undefined : new StarlarkFloat(operation(operands[0], operands[1]));
}

function ints(
  thread: Thread,
  x: Value,
  y: Value,
  operation: (thread: Thread, x: Int, y: Int) => Int,
): Int | undefined {
  return isInt(x) && isInt(y) ? operation(thread, x, y) : undefined;
}

/** Strings of unknown content join by reference; only the new part takes memory at once. */
const JOIN_OVERHEAD = 32;

export function add(thread: Thread, x: Value, y: Value): Value {
  if (typeof x === 'string' && typeof y === 'string') {
    thread.allocate(y.length + JOIN_OVERHEAD);
    return concatStrings(x, y);
  }
  if (x instanceof List && y instanceof List) {
    thread.allocate((x.items.length + y.items.length) * 8);
    thread.step((x.items.length + y.items.length) >> 6);
    return new List(x.items.concat(y.items));
  }
  if (x instanceof Tuple && y instanceof Tuple) {
    thread.allocate((x.items.length + y.items.length) * 8);
    thread.step((x.items.length + y.items.length) >> 6);
    return new Tuple(x.items.concat(y.items));
  }
  if (x instanceof Bytes && y instanceof Bytes) {
    thread.allocate(x.value.length + y.value.length);
    const joined = new Uint8Array(x.value.length + y.value.length);
    joined.set(x.value);
    joined.set(y.value, x.value.length);
    return new Bytes(joined);
  }
  return ints(thread, x, y, addInts) ?? float(x, y, (a, b) => a + b) ?? fallBack(thread, '+', x, y);
}

export function subtract(thread: Thread, x: Value, y: Value): Value {
  return (
    ints(thread, x, y, subtractInts) ??
    float(x, y, (a, b) => a - b) ??
    combineSets(thread, '-', x, y) ??
    fallBack(thread, '-', x, y)
  );
}

export function multiply(thread: Thread, x: Value, y: Value): Value {
  return (
    ints(thread, x, y, multiplyInts) ??
    float(x, y, (a, b) => a * b) ??
    repeat(thread, x, y) ??
    fallBack(thread, '*', x, y)
  );
}

export function divide(thread: Thread, x: Value, y: Value): Value {
  if (isInt(x) && isInt(y)) return new StarlarkFloat(divideInts(x, y));
  const result = float(x, y, (a, b) => {
    if (b === 0) throw new EvaluationError('floating-point division by zero');
    return a / b;
  });
  return result ?? fallBack(thread, '/', x, y);
}

export function floorDivide(thread: Thread, x: Value, y: Value): Value {
  const result = float(x, y, (a, b) => {
    if (b === 0) throw new EvaluationError('floored division by zero');
    return Math.floor(a / b);
  });
  return ints(thread, x, y, floorDivideInts) ?? result ?? fallBack(thread, '//', x, y);
}

export function modulo(thread: Thread, x: Value, y: Value): Value {
  if (typeof x === 'string') return formatPercent(thread, x, y);
  const result = float(x, y, (a, b) => {
    if (b === 0) throw new EvaluationError('floating-point modulo by zero');
    const remainder = a % b;
    return remainder !== 0 && remainder < 0 !== b < 0 ? remainder + b : remainder;
  });
  return ints(thread, x, y, moduloInts) ?? result ?? fallBack(thread, '%', x, y);
}

/** `x & y`, `x | y`, `x ^ y`. */
export function bitwise(thread: Thread, operator: '&' | '|' | '^', x: Value, y: Value): Value {
  if (isInt(x) && isInt(y)) return bitwiseInts(thread, operator, x, y);
  if (operator === '|' && x instanceof Dict && y instanceof Dict) return unionDicts(thread, x, y);
  return combineSets(thread, operator, x, y) ?? fallBack(thread, operator, x, y);
}

function unionDicts(thread: Thread, x: Dict, y: Dict): Dict {
  thread.step(x.size + y.size);
  thread.allocate((x.size + y.size) * 64);
  const union = new Dict();
  for (const dict of [x, y]) {
    dict.forEach((key, value) => {
      union.set(key, value, thread);
    });
  }
  return union;
}

export function shift(thread: Thread, operator: '<<' | '>>', x: Value, y: Value): Value {
  if (isInt(x)) return shiftInt(thread, operator, x, y);
  return fallBack(thread, operator, x, y);
}

/** `x in y`. */
export function isIn(thread: Thread, x: Value, y: Value): boolean {
  if (typeof y === 'string') {
    if (typeof x !== 'string') {
      throw new EvaluationError(`'in <string>' requires string as left operand, not ${typeName(x)}`);
    }
    if (indexOfPart(y, x, 0, thread) >= 0) return true;
    // A part of a character is part of the string too: its bytes are.
    return !isAscii(x) && indexOfPart(toByteString(y), toByteString(x), 0, thread) >= 0;
  }
  const found = y instanceof HeapValue ? y.contains(x, thread) : undefined;
  return found ?? fallBack(thread, 'in', x, y) === true;
}

/** `x += y`: a list is extended in place. */
export function addInPlace(thread: Thread, x: Value, y: Value): Value {
  if (!(x instanceof List) || !(y instanceof HeapValue)) return add(thread, x, y);
  const items = y.elements(thread);
  if (items === undefined) return add(thread, x, y);
  x.checkMutable('apply += to');
  thread.step(items.length);
  thread.allocate(items.length * 8);
  const { length } = items;
  for (let i = 0; i < length; i++) x.items.push(items[i]!);
  return x;
}

/** `x |= y`: a dict is updated in place. */
export function orInPlace(thread: Thread, x: Value, y: Value): Value {
  if (!(x instanceof Dict) || !(y instanceof Dict)) return bitwise(thread, '|', x, y);
  x.checkMutable('apply |= to');
  thread.step(y.size);
  thread.allocate(y.size * 64);
  if (x === y) return x;
  y.forEach((key, value) => {
    x.set(key, value, thread);
  });
  return x;
}

/** `-x`, `+x` and `~x`. */
export function unary(thread: Thread, operator: '-' | '+' | '~', x: Value): Value {
  if (isInt(x)) {
    if (operator === '+') return x;
    const negated = subtractInts(thread, 0, x);
    return operator === '-' ? negated : subtractInts(thread, negated, 1);
  }
  const result = x instanceof HeapValue ? x.unary(operator) : undefined;
  if (result !== undefined) return result;
  throw new EvaluationError(`unknown unary op: ${operator} ${typeName(x)}`);
}

/** Returns the union, intersection, difference or symmetric difference of two sets; `undefined` for other values. */
function combineSets(
  thread: Thread,
  operator: '|' | '&' | '-' | '^',
  x: Value,
  y: Value,
): StarlarkSet | undefined {
  if (!(x instanceof StarlarkSet) || !(y instanceof StarlarkSet)) return undefined;
  thread.step(x.size + y.size);
  thread.allocate((x.size + y.size) * 48);
  switch (operator) {
    case '|':
      return StarlarkSet.of([...x.items(), ...y.items()], thread);
    case '&':
      return StarlarkSet.of(
        x.items().filter((item) => y.has(item, thread)),
        thread,
      );
    case '-':
      return StarlarkSet.of(
        x.items().filter((item) => !y.has(item, thread)),
        thread,
      );
    case '^':
      return StarlarkSet.of(
        [
          ...x.items().filter((item) => !y.has(item, thread)),
          ...y.items().filter((item) => !x.has(item, thread)),
        ],
        thread,
      );
  }
}
