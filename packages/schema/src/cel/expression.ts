/**
 * Evaluates CEL expressions at a limited cost.
 *
 * CEL has no endless loops, but an expression can still take as long as its author wants. So its steps charge a budget
 * (`meter-expression.ts`).
 *
 * @module
 */

import type { CelEnv, CelFunc, CelInput, CelValue } from '@bufbuild/cel';
import { quote } from '../diagnostics/quote.js';
import type { JsonObject, JsonValue } from '../documents/definition.js';
import { loadCel } from '../libraries/lazy-libraries.js';
import { CelBudget } from './budget.js';
import { listFunctions } from './functions/lists.js';
import { networkFunctions } from './functions/network.js';
import { quantityFunctions } from './functions/quantity.js';
import { semverFunctions } from './functions/semver.js';
import { setFunctions } from './functions/sets.js';
import { linearExpressions, textFunctions } from './functions/text.js';
import { urlFunctions } from './functions/url.js';
import { type Meter, meterExpression, meterFunctions } from './meter-expression.js';
import { resultTypes } from './result-types.js';
import { expandTwoVariables, twoVariableFunctions } from './two-variables.js';

/** Maximum length of an expression. The longest of published CustomResourceDefinitions have about 3,000 characters. */
export const MAX_CEL_LENGTH = 10_000;
/** Maximum depth of brackets. The time to parse grows with its square. */
const MAX_BRACKETS = 100;

export type CelOutcome = { value: CelValue } | { problem: string };

/** A compiled expression of the Common Expression Language. */
export interface CelExpression {
  /**
   * Evaluates the expression. `problem` says why it has no value, for example "no such key". Without a budget, it may
   * cost up to `MAX_CEL_COST`.
   */
  evaluate(variables: Readonly<Record<string, CelInput>>, budget?: CelBudget): CelOutcome;
  /** The types that its value can have; undefined if they are not known before. */
  types: ReadonlySet<string> | undefined;
}

interface Environment {
  env: CelEnv;
  meter: Meter;
  names: ReadonlySet<string>;
}
let environment: Environment | undefined;

/**
 * Compiles an expression with the functions of the language, of its extensions `strings`, `sets`, and two-variable
 * comprehensions, and those that Kubernetes adds for lists, regular expressions, quantities, versions, addresses, and URLs.
 * Regular expressions are RE2. Optional values are not supported. `problem` says what is wrong with it, for
 * example an unknown variable. Types are not checked before the evaluation.
 */
export function compileCel(
  expression: string,
  variables: readonly string[],
): CelExpression | { problem: string } {
  if (expression.length > MAX_CEL_LENGTH) {
    return { problem: `the expression has more than ${MAX_CEL_LENGTH.toLocaleString('en-US')} characters` };
  }
  if (bracketDepth(expression) > MAX_BRACKETS) return { problem: TOO_DEEP };
  const { parse, plan } = loadCel();
  environment ??= openEnvironment();
  const { env, meter, names } = environment;
  try {
    const parsed = parse(expression);
    expandTwoVariables(parsed.expr);
    const types = resultTypes(parsed.expr, env);
    const problem = meterExpression(parsed.expr, new Set(variables), (name) => names.has(name));
    if (problem !== undefined) return { problem };
    const run = plan(env, parsed) as (variables: Readonly<Record<string, CelInput>>) => CelValue;
    return {
      types,
      evaluate(values, budget = new CelBudget()) {
        meter.budget = budget;
        const value = withoutStacks(() => run(values));
        if (budget.exhausted)
          return { problem: 'the expression costs too much: it loops over too many values' };
        return loadCel().isCelError(value) ? { problem: describe(value) } : { value };
      },
    };
  } catch (error) {
    const problem = describe(error);
    return { problem: problem.startsWith(SYNTAX) && OPTIONAL.test(expression) ? NO_OPTIONALS : problem };
  }
}

/** As `compileCel`, for an expression that must be a boolean. Only some types are known before the evaluation. */
export function compileCondition(
  expression: string,
  variables: readonly string[],
): CelExpression | { problem: string } {
  const compiled = compileCel(expression, variables);
  if ('problem' in compiled || compiled.types === undefined || compiled.types.has('bool')) return compiled;
  return { problem: `${NOT_BOOLEAN} ${[...compiled.types].join(' or ')}` };
}

/**
 * Evaluates an expression that must be a boolean, with JSON values as variables, such as the `when` of a step of a
 * Kptfile. `problem` says why it cannot be evaluated, or that it is no boolean.
 */
export function evaluateCondition(
  expression: string,
  variables: Readonly<JsonObject>,
): { value: boolean } | { problem: string } {
  const compiled = compileCondition(expression, Object.keys(variables));
  if ('problem' in compiled) return compiled;
  const values = Object.entries(variables).map(([name, value]) => [name, toCelValue(value)] as const);
  const outcome = compiled.evaluate(Object.fromEntries(values));
  if ('problem' in outcome) return outcome;
  const { value } = outcome;
  if (typeof value === 'boolean') return { value };
  const text = typeof value === 'string' ? ` ${quote(value)}` : typeof value === 'bigint' ? ` ${value}` : '';
  return { problem: `${NOT_BOOLEAN} ${loadCel().celType(value).name}${text}` };
}

const NOT_BOOLEAN = 'the expression must be a boolean, not';

/** Converts a JSON value. A number without a fraction is an int. */
export function toCelValue(value: JsonValue): CelInput {
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : value;
  if (Array.isArray(value)) return value.map(toCelValue);
  if (typeof value !== 'object' || value === null) return value;
  return new Map(Object.entries(value).map(([name, item]) => [name, toCelValue(item)]));
}

const SYNTAX = 'syntax error';
/** `a.?b`, `a[?b]`, `[?a]`, and `{?'a': b}` are not in the grammar of the library. */
const OPTIONAL = /[.[{,]\s*\?/;
const NO_OPTIONALS = 'optional values, such as `a.?b`, are not supported';
const TOO_DEEP = 'the expression is nested too deeply';

function openEnvironment(): Environment {
  const { celEnv, strings } = loadCel();
  const meter: Meter = { budget: new CelBudget(0) };
  const funcs: CelFunc[] = [
    ...strings,
    ...listFunctions(meter),
    ...setFunctions(meter),
    ...textFunctions(meter),
    ...quantityFunctions(),
    ...semverFunctions(),
    ...networkFunctions(meter),
    ...urlFunctions(),
    ...twoVariableFunctions(),
    ...meterFunctions(meter),
  ];
  const env = celEnv({ funcs, re2: linearExpressions(meter) });
  return { env, meter, names: new Set([...env.funcs].map(({ name }) => name)) };
}

/** Brackets in strings count too: a rare rule is refused, instead of parsing each expression twice. */
function bracketDepth(expression: string): number {
  let depth = 0;
  let most = 0;
  for (const character of expression) {
    if ('([{'.includes(character)) most = Math.max(most, ++depth);
    else if (')]}'.includes(character)) depth = Math.max(depth - 1, 0);
  }
  return most;
}

function describe(error: unknown): string {
  const { cause, location } = error as { cause?: unknown; location?: { start?: { offset?: unknown } } };
  if (error instanceof RangeError || cause instanceof RangeError) return TOO_DEEP;
  const offset = location?.start?.offset;
  // The parser lists everything that could stand there, and stops where it gives up, not where the mistake is.
  if (typeof offset === 'number') return `${SYNTAX} after character ${offset}`;
  return error instanceof Error ? error.message : String(error);
}

/** An expression can have an error in every step of a loop and ignore it, and a stack takes ten times as long as a step. */
function withoutStacks<T>(run: () => T): T {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return run();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
