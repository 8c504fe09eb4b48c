import { EvaluationError } from './evaluation-error.js';

/** An int: a `number` if it is a safe integer, else a `bigint`. */
export type Int = number | bigint;

const MAX = BigInt(Number.MAX_SAFE_INTEGER);
const MIN = -MAX;
/** Larger results are errors: arithmetic on them is slow. */
export const MAX_INT_BITS = 4 * 1024 * 1024;

/** Returns the int in its only representation. */
export function normalizeInt(value: bigint): Int {
  return value >= MIN && value <= MAX ? Number(value) : value;
}

/** Returns the int of an integral double of any size. */
export function intFromDouble(value: number): Int {
  return Number.isSafeInteger(value) ? value + 0 : normalizeInt(BigInt(value));
}

/** An upper estimate of the size of an int in bits, without conversion. */
export function bitLength(value: Int): number {
  if (typeof value === 'number') return 53;
  const double = Math.abs(Number(value));
  if (double !== Number.POSITIVE_INFINITY) return Math.ceil(Math.log2(double)) + 1;
  return value.toString(16).length * 4;
}

/** Throws if an int with so many bits would be too large. */
export function checkIntBits(bits: number): void {
  if (bits > MAX_INT_BITS) throw new EvaluationError(`int too large: more than ${MAX_INT_BITS} bits`);
}

export const isInt = (value: unknown): value is Int => typeof value === 'number' || typeof value === 'bigint';

/** Returns the nearest double; errors if the int is out of range. */
export function intToDouble(value: Int): number {
  const result = Number(value);
  if (!Number.isFinite(result)) throw new EvaluationError('int too large to convert to float');
  return result;
}

/** Orders an int and a double exactly. NaN is greater than everything. */
export function compareIntToDouble(x: Int, y: number): number {
  if (Number.isNaN(y)) return -1;
  return x < y ? -1 : x > y ? 1 : 0;
}
