import { EvaluationError } from '../values/evaluation-error.js';
import { bitLength, checkIntBits, type Int, intToDouble, isInt, normalizeInt } from '../values/integer.js';
import type { Thread } from '../values/thread.js';
import { typeName, type Value } from '../values/value.js';

/** Shifts to the left by more are errors. */
const MAX_SHIFT = 512;
const MAX_SAFE = Number.MAX_SAFE_INTEGER;

const isSafe = (value: number) => value <= MAX_SAFE && value >= -MAX_SAFE;

/** Counts the work of an operation on large ints: its time is not constant. */
function account(thread: Thread, x: Int, y: Int, product: boolean): void {
  const xBits = bitLength(x);
  const yBits = bitLength(y);
  const bits = product ? xBits + yBits : Math.max(xBits, yBits) + 1;
  checkIntBits(bits);
  thread.allocate(bits >> 3);
  thread.step(product ? Math.ceil((xBits / 64) * (yBits / 64)) >> 4 : bits >> 10);
}

export function addInts(thread: Thread, x: Int, y: Int): Int {
  if (typeof x === 'number' && typeof y === 'number') {
    const sum = x + y;
    return isSafe(sum) ? sum : BigInt(x) + BigInt(y);
  }
  account(thread, x, y, false);
  return normalizeInt(BigInt(x) + BigInt(y));
}

export function subtractInts(thread: Thread, x: Int, y: Int): Int {
  if (typeof x === 'number' && typeof y === 'number') {
    const difference = x - y;
    return isSafe(difference) ? difference : BigInt(x) - BigInt(y);
  }
  account(thread, x, y, false);
  return normalizeInt(BigInt(x) - BigInt(y));
}

export function multiplyInts(thread: Thread, x: Int, y: Int): Int {
  if (typeof x === 'number' && typeof y === 'number') {
    const product = x * y;
    // Adding 0 makes 0 of -0.
    return isSafe(product) ? product + 0 : BigInt(x) * BigInt(y);
  }
  account(thread, x, y, true);
  return normalizeInt(BigInt(x) * BigInt(y));
}

/** `x / y`: a float, also of ints. */
export function divideInts(x: Int, y: Int): number {
  if (y === 0) throw new EvaluationError('floating-point division by zero');
  return intToDouble(x) / intToDouble(y);
}

/** `x // y`, rounded down. */
export function floorDivideInts(thread: Thread, x: Int, y: Int): Int {
  if (y === 0) throw new EvaluationError('floored division by zero');
  if (typeof x === 'number' && typeof y === 'number') {
    // x / y may round up to an integer; the remainder is exact.
    const remainder = x % y;
    const quotient = (x - remainder) / y;
    return (remainder !== 0 && remainder < 0 !== y < 0 ? quotient - 1 : quotient) + 0;
  }
  account(thread, x, y, true);
  const a = BigInt(x);
  const b = BigInt(y);
  const quotient = a / b;
  return normalizeInt(quotient * b !== a && a < 0n !== b < 0n ? quotient - 1n : quotient);
}

/** `x % y`, with the sign of `y`. */
export function moduloInts(thread: Thread, x: Int, y: Int): Int {
  if (y === 0) throw new EvaluationError('integer modulo by zero');
  if (typeof x === 'number' && typeof y === 'number') {
    const remainder = x % y;
    return (remainder !== 0 && remainder < 0 !== y < 0 ? remainder + y : remainder) + 0;
  }
  account(thread, x, y, true);
  const b = BigInt(y);
  const remainder = BigInt(x) % b;
  return normalizeInt(remainder !== 0n && remainder < 0n !== b < 0n ? remainder + b : remainder);
}

/** `x & y`, `x | y` and `x ^ y`, in two's complement. */
export function bitwiseInts(thread: Thread, operator: '&' | '|' | '^', x: Int, y: Int): Int {
  if (typeof x === 'number' && typeof y === 'number' && x === (x | 0) && y === (y | 0)) {
    return operator === '&' ? x & y : operator === '|' ? x | y : x ^ y;
  }
  account(thread, x, y, false);
  const a = BigInt(x);
  const b = BigInt(y);
  return normalizeInt(operator === '&' ? a & b : operator === '|' ? a | b : a ^ b);
}

export function shiftInt(thread: Thread, operator: '<<' | '>>', x: Int, count: Value): Int {
  if (!isInt(count)) throw new EvaluationError(`got ${typeName(count)}, want int`);
  if (typeof count !== 'number' || Math.abs(count) > 0x7fff_ffff) {
    throw new EvaluationError(`${count} out of range`);
  }
  if (count < 0) throw new EvaluationError(`negative shift count: ${count}`);
  if (operator === '<<') {
    if (count >= MAX_SHIFT) throw new EvaluationError(`shift count too large: ${count}`);
    const bits = (x === (Number(x) | 0) ? 32 - Math.clz32(Math.abs(x)) : bitLength(x)) + count;
    checkIntBits(bits);
    if (bits < 31 && typeof x === 'number') return x << count;
    thread.allocate(bits >> 3);
    thread.step(bits >> 10);
    return normalizeInt(BigInt(x) << BigInt(count));
  }
  if (typeof x === 'number' && x === (x | 0)) return x >> Math.min(count, 31);
  const bits = Math.max(0, bitLength(x) - count);
  thread.allocate(bits >> 3);
  thread.step(bits >> 10);
  return normalizeInt(BigInt(x) >> BigInt(count));
}
