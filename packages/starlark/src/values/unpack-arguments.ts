import { EvaluationError } from './evaluation-error.js';
import { type Int, isInt } from './integer.js';
import { quoteString } from './repr.js';
import { suggest } from './spelling.js';
import { HeapValue, type Kwargs, typeName, type Value } from './value.js';

/**
 * Returns the arguments of a built-in function by parameter. A parameter is written `name`, `name?` if it is optional,
 * and `name??` if None also counts as not given. Arguments that are not given are `undefined`.
 */
export function unpackArguments(
  functionName: string,
  args: readonly Value[],
  kwargs: Kwargs,
  parameters: readonly string[],
): (Value | undefined)[] {
  if (args.length > parameters.length) {
    throw new EvaluationError(
      `${functionName}: got ${args.length} arguments, want at most ${parameters.length}`,
    );
  }
  const names = parameters.map((parameter) => parameter.replace(/\?+$/, ''));
  const values: (Value | undefined)[] = [...args];
  while (values.length < parameters.length) values.push(undefined);
  for (const [key, value] of kwargs) {
    const index = names.indexOf(key);
    if (index < 0) {
      throw new EvaluationError(
        `${functionName}: unexpected keyword argument ${quoteString(key)}${suggest(key, names)}`,
      );
    }
    if (values[index] !== undefined) {
      throw new EvaluationError(
        `${functionName}: got multiple values for keyword argument ${quoteString(key)}`,
      );
    }
    values[index] = value;
  }
  for (let i = 0; i < parameters.length; i++) {
    if (values[i] === null && parameters[i]!.endsWith('??')) values[i] = undefined;
    if (values[i] === undefined && !parameters[i]!.endsWith('?')) {
      throw new EvaluationError(`${functionName}: missing argument for ${names[i]}`);
    }
  }
  return values;
}

/** Checks the number of arguments of a function without parameter names. */
export function checkPositional(
  functionName: string,
  args: readonly Value[],
  kwargs: Kwargs,
  min: number,
  max: number,
): void {
  if (kwargs.length > 0) throw new EvaluationError(`${functionName}: unexpected keyword arguments`);
  if (args.length >= min && args.length <= max) return;
  const tooFew = args.length < min;
  const bound = min === max ? '' : tooFew ? 'at least ' : 'at most ';
  throw new EvaluationError(
    `${functionName}: got ${args.length} arguments, want ${bound}${tooFew ? min : max}`,
  );
}

/** `parameter` is a name, or the number of a parameter without name, from 1. */
function wrongType(functionName: string, parameter: string | number, value: Value, want: string): never {
  throw new EvaluationError(
    `${functionName}: for parameter ${parameter}: got ${typeName(value)}, want ${want}`,
  );
}

export function wantString(functionName: string, parameter: string | number, value: Value): string {
  return typeof value === 'string' ? value : wrongType(functionName, parameter, value, 'string');
}

export function wantBool(functionName: string, parameter: string | number, value: Value): boolean {
  return typeof value === 'boolean' ? value : wrongType(functionName, parameter, value, 'bool');
}

export function wantInt(functionName: string, parameter: string | number, value: Value): Int {
  return isInt(value) ? value : wrongType(functionName, parameter, value, 'int');
}

/** Returns an int that fits a machine word: a safe integer. */
export function wantSmallInt(functionName: string, parameter: string | number, value: Value): number {
  const int = wantInt(functionName, parameter, value);
  if (typeof int === 'number') return int;
  throw new EvaluationError(
    `${functionName}: for parameter ${parameter}: ${int} out of range (want value in signed 53-bit range)`,
  );
}

export function wantCallable(functionName: string, parameter: string | number, value: Value): HeapValue {
  return value instanceof HeapValue && value.callable
    ? value
    : wrongType(functionName, parameter, value, 'callable');
}
