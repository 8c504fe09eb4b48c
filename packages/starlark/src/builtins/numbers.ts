import { EvaluationError } from '../values/evaluation-error.js';
import { StarlarkFloat } from '../values/float.js';
import { type Int, intFromDouble, intToDouble, isInt, normalizeInt } from '../values/integer.js';
import type { Thread } from '../values/thread.js';
import { checkPositional, unpackArguments } from '../values/unpack-arguments.js';
import { isTrue, type Kwargs, typeName, type Value } from '../values/value.js';
import { named, toInt32 } from './arguments.js';
import { readString } from './byte-string.js';
import { parseFloatText, parseIntText } from './parse-number.js';

/** A text of more digits is not converted: converting takes time that grows with the square of the digits. */
const MAX_INT_DIGITS = 100_000;

export function abs(_thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('abs', args, kwargs, 1, 1);
  const x = args[0] as Value;
  if (x instanceof StarlarkFloat) return new StarlarkFloat(Math.abs(x.value));
  if (isInt(x)) return x < 0 ? -x : x;
  throw new EvaluationError(`got ${typeName(x)}, want int or float`);
}

export function bool(_thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('bool', args, kwargs, 0, 1);
  return args.length > 0 && isTrue(args[0] as Value);
}

export function int(thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  const [x = 0, base] = unpackArguments('int', args, kwargs, ['x', 'base?']);
  if (typeof x === 'string') {
    readString(thread, x);
    const radix = base === undefined ? 10 : readBase(base);
    if (x.length > MAX_INT_DIGITS) throw new EvaluationError(`int: more than ${MAX_INT_DIGITS} digits`);
    thread.step(x.length ** 2 / 10_000);
    const value = parseIntText(x, radix);
    if (value === undefined) throw new EvaluationError(`int: invalid literal with base ${radix}: ${x}`);
    return normalizeInt(value);
  }
  if (base !== undefined) throw new EvaluationError("int: can't convert non-string with explicit base");
  if (typeof x === 'boolean') return x ? 1 : 0;
  return named('int', () => numberToInt(x));
}

function readBase(value: Value): number {
  if (!isInt(value) || typeof value === 'bigint') {
    throw new EvaluationError(`int: for base, got ${typeName(value)}, want int`);
  }
  if (value !== 0 && (value < 2 || value > 36)) {
    throw new EvaluationError('int: base must be an integer >= 2 && <= 36');
  }
  return value;
}

/** Returns an int as it is, and a float without its fraction. Throws for other values. */
export function numberToInt(value: Value): Int {
  if (isInt(value)) return value;
  if (!(value instanceof StarlarkFloat))
    throw new EvaluationError(`cannot convert ${typeName(value)} to int`);
  if (Number.isNaN(value.value)) throw new EvaluationError('cannot convert float NaN to integer');
  if (!Number.isFinite(value.value)) throw new EvaluationError('cannot convert float infinity to integer');
  return intFromDouble(Math.trunc(value.value));
}

export function float(thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  if (kwargs.length > 0) throw new EvaluationError('float does not accept keyword arguments');
  if (args.length === 0) return new StarlarkFloat(0);
  if (args.length !== 1) throw new EvaluationError(`float got ${args.length} arguments, wants 1`);
  const x = args[0] as Value;
  if (x instanceof StarlarkFloat) return x;
  if (typeof x === 'boolean') return new StarlarkFloat(x ? 1 : 0);
  if (isInt(x)) return new StarlarkFloat(intToDouble(x));
  if (typeof x !== 'string') throw new EvaluationError(`float got ${typeName(x)}, want number or string`);
  if (x === '') throw new EvaluationError('float: empty string');
  readString(thread, x);
  const named = namedFloat(x);
  if (named !== undefined) return new StarlarkFloat(named);
  const value = parseFloatText(x);
  if (value === undefined) throw new EvaluationError(`invalid float literal: ${x}`);
  if (!Number.isFinite(value)) throw new EvaluationError('floating-point number too large');
  return new StarlarkFloat(value);
}

function namedFloat(text: string): number | undefined {
  const found = /^([+-]?)(?:(inf(?:inity)?)|nan)$/i.exec(text);
  if (found === null) return undefined;
  if (found[2] === undefined) return Number.NaN;
  return found[1] === '-' ? -Infinity : Infinity;
}

/** Returns the code point of an argument of `chr`. */
export function codePointArgument(value: Value): number {
  const code = named('chr', () => toInt32(value));
  if (code < 0) throw new EvaluationError(`chr: Unicode code point ${code} out of range (<0)`);
  if (code > 0x10ffff) {
    const digits = code.toString(16).toUpperCase();
    throw new EvaluationError(`chr: Unicode code point U+${digits} out of range (>0x10FFFF)`);
  }
  return code;
}
