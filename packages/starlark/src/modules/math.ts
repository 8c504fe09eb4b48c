import { numberToInt } from '../builtins/numbers.js';
import { Builtin } from '../values/builtin.js';
import { EvaluationError } from '../values/evaluation-error.js';
import { StarlarkFloat } from '../values/float.js';
import { isInt } from '../values/integer.js';
import { Module } from '../values/module.js';
import { checkPositional } from '../values/unpack-arguments.js';
import { typeName, type Value } from '../values/value.js';
import { gamma, pow, remainder, roundHalfAway } from './math-functions.js';

/** The module `math`. All functions take ints and floats; `ceil` and `floor` return ints, the others floats. */
export const MATH_MODULE = new Module('math', [
  ['e', new StarlarkFloat(Math.E)],
  ['pi', new StarlarkFloat(Math.PI)],
  rounding('ceil', Math.ceil),
  rounding('floor', Math.floor),
  binary('copysign', (x, y) => (Object.is(Math.sign(y), -0) || y < 0 ? -Math.abs(x) : Math.abs(x))),
  binary('mod', (x, y) => x % y),
  binary('pow', pow),
  binary('remainder', remainder),
  binary('atan2', Math.atan2),
  binary('hypot', Math.hypot),
  unary('fabs', Math.abs),
  unary('round', roundHalfAway),
  unary('exp', Math.exp),
  unary('sqrt', Math.sqrt),
  unary('acos', Math.acos),
  unary('asin', Math.asin),
  unary('atan', Math.atan),
  unary('cos', Math.cos),
  unary('sin', Math.sin),
  unary('tan', Math.tan),
  unary('acosh', Math.acosh),
  unary('asinh', Math.asinh),
  unary('atanh', Math.atanh),
  unary('cosh', Math.cosh),
  unary('sinh', Math.sinh),
  unary('tanh', Math.tanh),
  unary('degrees', (x) => (360 * x) / (2 * Math.PI)),
  unary('radians', (x) => (2 * Math.PI * x) / 360),
  unary('gamma', gamma),
  ['log', new Builtin('log', (_thread, args, kwargs) => log(args, kwargs))],
]);

function log(args: readonly Value[], kwargs: Parameters<typeof checkPositional>[2]): Value {
  checkPositional('log', args, kwargs, 1, 2);
  const x = toFloat('log', 1, args[0] as Value);
  const base = args[1] === undefined ? Math.E : toFloat('log', 2, args[1]);
  if (base === 1) throw new EvaluationError('division by zero');
  return new StarlarkFloat(Math.log(x) / Math.log(base));
}

function unary(name: string, apply: (x: number) => number): [string, Builtin] {
  const body: Builtin['body'] = (_thread, args, kwargs) => {
    checkPositional(name, args, kwargs, 1, 1);
    return new StarlarkFloat(apply(toFloat(name, 1, args[0] as Value)));
  };
  return [name, new Builtin(name, body)];
}

function binary(name: string, apply: (x: number, y: number) => number): [string, Builtin] {
  const body: Builtin['body'] = (_thread, args, kwargs) => {
    checkPositional(name, args, kwargs, 2, 2);
    const x = toFloat(name, 1, args[0] as Value);
    return new StarlarkFloat(apply(x, toFloat(name, 2, args[1] as Value)));
  };
  return [name, new Builtin(name, body)];
}

function rounding(name: string, apply: (x: number) => number): [string, Builtin] {
  const body: Builtin['body'] = (_thread, args, kwargs) => {
    checkPositional(name, args, kwargs, 1, 1);
    const x = args[0] as Value;
    if (isInt(x)) return x;
    if (x instanceof StarlarkFloat) return numberToInt(new StarlarkFloat(apply(x.value)));
    throw new EvaluationError(`got ${typeName(x)}, want float or int`);
  };
  return [name, new Builtin(name, body)];
}

function toFloat(name: string, parameter: number, value: Value): number {
  if (value instanceof StarlarkFloat) return value.value;
  if (isInt(value)) return Number(value);
  throw new EvaluationError(`${name}: for parameter ${parameter}: got ${typeName(value)}, want float or int`);
}
