import { Dict } from './dict.js';
import { EvaluationError } from './evaluation-error.js';
import type { FunctionCode } from './function-code.js';
import { quoteString } from './repr.js';
import { suggest } from './spelling.js';
import { Tuple } from './tuple.js';
import type { Kwargs, Value } from './value.js';

/** Returns the arguments of a call in the order of the function's parameters. Throws if they do not fit. */
export function bindArguments(
  code: FunctionCode,
  defaults: readonly (Value | undefined)[],
  args: readonly Value[],
  kwargs: Kwargs,
): Value[] {
  const { name, parameters, hasVarargs, hasKwargs } = code;
  if (parameters.length === 0 && !hasVarargs && !hasKwargs) {
    const given = args.length + kwargs.length;
    if (given > 0) throw new EvaluationError(`function ${name} accepts no arguments (${given} given)`);
    return [];
  }
  const positional = parameters.length - code.keywordOnly;
  if (args.length > positional && !hasVarargs) {
    const atMost = defaults.slice(0, positional).some((value) => value !== undefined) ? 'at most ' : '';
    const plural = positional === 1 ? '' : 's';
    throw new EvaluationError(
      `function ${name} accepts ${atMost}${positional} positional argument${plural} (${args.length} given)`,
    );
  }
  const bound: (Value | undefined)[] = args.slice(0, positional);
  while (bound.length < parameters.length) bound.push(undefined);
  const rest = hasKwargs ? new Dict() : undefined;
  for (const [key, value] of kwargs) bindKeyword(code, bound, rest, key, value);
  const missing: string[] = [];
  for (let i = 0; i < parameters.length; i++) {
    if (bound[i] === undefined) bound[i] = defaults[i];
    if (bound[i] === undefined) missing.push(parameters[i]!);
  }
  if (missing.length > 0) {
    const plural = missing.length > 1 ? 's' : '';
    throw new EvaluationError(
      `function ${name} missing ${missing.length} argument${plural} (${missing.join(', ')})`,
    );
  }
  if (hasVarargs) bound.push(new Tuple(args.slice(positional)));
  if (rest !== undefined) bound.push(rest);
  return bound as Value[];
}

function bindKeyword(
  { name, parameters }: FunctionCode,
  bound: (Value | undefined)[],
  rest: Dict | undefined,
  key: string,
  value: Value,
): void {
  const index = parameters.indexOf(key);
  if (index < 0 && rest === undefined) {
    throw new EvaluationError(
      `function ${name} got an unexpected keyword argument ${quoteString(key)}${suggest(key, parameters)}`,
    );
  }
  if (index < 0 ? rest!.has(key) : bound[index] !== undefined) {
    throw new EvaluationError(`function ${name} got multiple values for parameter ${quoteString(key)}`);
  }
  if (index < 0) rest!.set(key, value);
  else bound[index] = value;
}
