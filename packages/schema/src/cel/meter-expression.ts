import type { CelFunc, CelList, CelValue, parse } from '@bufbuild/cel';
import { loadCel } from '../libraries/lazy-libraries.js';
import type { CelBudget } from './budget.js';

/**
 * Makes the cost of an expression countable: CEL has no loops without an end, but loops in loops and strings that double
 * take as long as one likes. The parsed expression gets calls of functions that charge a budget.
 */

export type Expr = NonNullable<ReturnType<typeof parse>['expr']>;

/** The budget of the evaluation that runs. */
export interface Meter {
  budget: CelBudget;
}

/** No name of the language contains `@`, so an expression cannot call these functions. */
const CHARGE_STEP = '@charge_step';
const CHARGE_VALUE = '@charge_value';
const CHARGE_LENGTH = '@charge_length';
const APPEND = '@append';

/** Operators that visit at most one value of each operand. */
const CHEAP = new Set(['_&&_', '_||_', '_?_:_', '!_', '-_', '@not_strictly_false', '_[_]']);
/** Names of types, which are values. */
const TYPES = ['bool', 'bytes', 'double', 'duration', 'dyn', 'int', 'list', 'map', 'null_type', 'string'];
const GLOBALS = new Set([...TYPES, 'timestamp', 'type', 'uint', 'google']);

/** Returns the functions that charge the budget of the meter. */
export function meterFunctions(meter: Meter): CelFunc[] {
  const { CelScalar, celFunc, celList, isCelList } = loadCel();
  const { DYN } = CelScalar;
  /** The arrays of lists that a loop appends to. The language would nest one list per step. */
  const arrays = new WeakMap<CelList, CelValue[]>();
  return [
    celFunc(CHARGE_STEP, [DYN], DYN, (value) => {
      meter.budget.charge(1);
      return value;
    }),
    celFunc(CHARGE_VALUE, [DYN], DYN, (value) => {
      meter.budget.chargeValue(value);
      return value;
    }),
    celFunc(CHARGE_LENGTH, [DYN], DYN, (value) => {
      if (typeof value === 'string') meter.budget.chargeText(value.length);
      else if (isCelList(value)) meter.budget.charge(value.size);
      return value;
    }),
    celFunc(APPEND, [DYN, DYN], DYN, (list, value) => {
      const known = arrays.get(list as CelList);
      const array = known ?? [...(list as CelList)];
      array.push(value);
      if (known !== undefined) return list;
      const grown = celList(array);
      arrays.set(grown, array);
      return grown;
    }),
  ];
}

/**
 * Adds the calls to a parsed expression, in place. Returns what is unknown in it: a variable, a function, or syntax that
 * only messages have. Throws a RangeError if the expression is nested too deeply.
 */
export function meterExpression(
  parsed: Expr,
  variables: ReadonlySet<string>,
  isFunction: (name: string) => boolean,
): string | undefined {
  let problem: string | undefined;
  walk(parsed, variables);
  return problem;

  function walk(expr: Expr | undefined, scope: ReadonlySet<string>): void {
    if (expr === undefined || problem !== undefined) return;
    const { exprKind } = expr;
    switch (exprKind.case) {
      case 'identExpr': {
        const name = exprKind.value.name;
        if (!scope.has(name) && !GLOBALS.has(name)) problem = `unknown variable ${name}`;
        return;
      }
      case 'selectExpr':
        walk(exprKind.value.operand, scope);
        return;
      case 'listExpr':
        for (const element of exprKind.value.elements) walk(element, scope);
        return;
      case 'structExpr':
        if (exprKind.value.messageName !== '') problem = `unknown type ${exprKind.value.messageName}`;
        for (const entry of exprKind.value.entries) {
          if (entry.keyKind.case === 'mapKey') walk(entry.keyKind.value, scope);
          walk(entry.value, scope);
        }
        return;
      case 'callExpr':
        walkCall(exprKind.value, scope);
        return;
      case 'comprehensionExpr': {
        const loop = exprKind.value;
        const inner = new Set(scope).add(loop.accuVar).add(loop.iterVar);
        walk(loop.iterRange, scope);
        walk(loop.accuInit, scope);
        walk(loop.loopCondition, inner);
        walk(loop.result, inner);
        appendInPlace(loop.loopStep, loop.accuVar);
        walk(loop.loopStep, inner);
        loop.iterRange = call(CHARGE_LENGTH, loop.iterRange!);
        loop.loopCondition = call(CHARGE_STEP, loop.loopCondition!);
        return;
      }
    }
  }

  function walkCall(value: CallExpr, scope: ReadonlySet<string>): void {
    const { target } = value;
    const qualified =
      target?.exprKind.case === 'identExpr' && `${target.exprKind.value.name}.${value.function}`;
    const isQualified = typeof qualified === 'string' && isFunction(qualified);
    if (!isQualified) {
      walk(target, scope);
      if (!CHEAP.has(value.function) && !isFunction(value.function)) {
        problem ??= `unknown function ${value.function}`;
      }
    }
    for (const argument of value.args) walk(argument, scope);
    if (CHEAP.has(value.function) || value.function === APPEND) return;
    const charge = value.function === 'size' ? CHARGE_LENGTH : CHARGE_VALUE;
    const charged = (part: Expr) => (part.exprKind.case === 'constExpr' ? part : call(charge, part));
    if (target !== undefined && !isQualified) value.target = charged(target);
    value.args = value.args.map(charged);
  }
}

type CallExpr = Extract<Expr['exprKind'], { case: 'callExpr' }>['value'];

export function call(name: string, ...args: Expr[]): Expr {
  const value: CallExpr = { $typeName: 'cel.expr.Expr.Call', function: name, args };
  return { $typeName: 'cel.expr.Expr', id: args[0]!.id, exprKind: { case: 'callExpr', value } };
}

/** Replaces `accumulator + [value]` in the step of a loop. */
function appendInPlace(step: Expr | undefined, accumulator: string): void {
  if (step?.exprKind.case !== 'callExpr') return;
  const { value } = step.exprKind;
  if (value.function === '_?_:_') {
    for (const branch of value.args.slice(1)) appendInPlace(branch, accumulator);
    return;
  }
  const [list, added] = value.args;
  if (value.function !== '_+_' || list?.exprKind.case !== 'identExpr') return;
  if (list.exprKind.value.name !== accumulator || added?.exprKind.case !== 'listExpr') return;
  const [element] = added.exprKind.value.elements;
  value.function = APPEND;
  value.args = [list, element!];
}
