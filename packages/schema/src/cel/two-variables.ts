import type { CelFunc, CelInput, CelList, CelMap } from '@bufbuild/cel';
import { loadCel } from '../libraries/lazy-libraries.js';
import { call, type Expr } from './meter-expression.js';

/**
 * The macros with two variables (the extension `two-variable comprehensions`, in Kubernetes since 1.33), such as
 * `map.all(key, value, …)`. The library has only loops with one variable, so each becomes a loop over the pairs of the
 * list or map, and the two variables become the elements of a pair.
 */

const ENTRIES = '@entries';
const MAP_OF = '@map_of';
const MERGED = '@merged';
/** The loop that a macro becomes, by its number of arguments. `r`, `e`, `f` and `t` are replaced. */
const LOOPS: Readonly<Record<string, Readonly<Record<number, string>>>> = {
  all: { 3: 'r.all(e, t)' },
  exists: { 3: 'r.exists(e, t)' },
  existsOne: { 3: 'r.exists_one(e, t)' },
  exists_one: { 3: 'r.exists_one(e, t)' },
  transformList: { 3: 'r.map(e, t)', 4: 'r.map(e, f, t)' },
  transformMap: { 3: 'r.map(e, [e[0], t])', 4: 'r.map(e, f, [e[0], t])' },
  transformMapEntry: { 3: 'r.map(e, t)', 4: 'r.map(e, f, t)' },
};
const RESULTS: Readonly<Record<string, string>> = { transformMap: MAP_OF, transformMapEntry: MERGED };

/** The functions that the loops use. No name of the language contains `@`, so an expression cannot call them. */
export function twoVariableFunctions(): CelFunc[] {
  const { CelScalar, celFunc, isCelMap, listType, mapType } = loadCel();
  const { DYN } = CelScalar;
  const [LIST, MAP] = [listType(DYN), mapType(DYN, DYN)];
  return [
    celFunc(ENTRIES, [DYN], DYN, (value) => {
      if (isCelMap(value)) return [...value].map(([key, item]) => [key, item] as CelInput);
      if (!loadCel().isCelList(value)) throw new Error('only lists and maps have items');
      return [...value].map((item, index) => [BigInt(index), item] as CelInput);
    }),
    celFunc(MAP_OF, [LIST], MAP, (pairs) => merged([...pairs].map((pair) => [...(pair as CelList)]))),
    celFunc(MERGED, [LIST], MAP, (maps) => merged([...maps].flatMap((map) => [...(map as CelMap)]))),
  ];
}

function merged(pairs: readonly unknown[][]): Map<string, CelInput> {
  const map = new Map<unknown, unknown>();
  for (const [key, value] of pairs) {
    if (map.has(key)) throw new Error(`the key ${String(key)} already exists`);
    map.set(key, value);
  }
  return map as Map<string, CelInput>;
}

/** Replaces the macros in a parsed expression, in place. Throws a RangeError if it is nested too deeply. */
export function expandTwoVariables(expr: Expr): void {
  let loops = 0;
  const visit = (one: Expr): void => {
    // The inner macros first: what is left of a name then means the variable of an outer one.
    for (const child of childExpressions(one)) visit(child);
    if (one.exprKind.case !== 'callExpr') return;
    const { function: name, target, args } = one.exprKind.value;
    const text = Object.hasOwn(LOOPS, name) ? LOOPS[name]?.[args.length] : undefined;
    const [first, second, ...rest] = args;
    if (text === undefined || target === undefined) return;
    if (first?.exprKind.case !== 'identExpr' || second?.exprKind.case !== 'identExpr') return;
    const pair = `@pair${loops++}`;
    const variables = new Map([
      [first.exprKind.value.name, () => element(pair, 0n)],
      [second.exprKind.value.name, () => element(pair, 1n)],
    ]);
    for (const part of rest) substitute(part, variables);
    const loop = loadCel().parse(text).expr!;
    if (loop.exprKind.case === 'comprehensionExpr') loop.exprKind.value.iterVar = pair;
    substitute(
      loop,
      new Map([
        ['r', () => call(ENTRIES, target)],
        ['e', () => ident(pair)],
        ['f', () => rest[0]!],
        ['t', () => rest.at(-1)!],
      ]),
    );
    const result = RESULTS[name];
    one.exprKind = (result === undefined ? loop : call(result, loop)).exprKind;
  };
  visit(expr);
}

/** Replaces names that no inner loop declares. What replaces them is not searched. */
function substitute(expr: Expr, names: ReadonlyMap<string, () => Expr>): void {
  const { exprKind } = expr;
  if (exprKind.case === 'identExpr') {
    const replacement = names.get(exprKind.value.name);
    if (replacement !== undefined) expr.exprKind = replacement().exprKind;
    return;
  }
  if (exprKind.case === 'comprehensionExpr' && names.has(exprKind.value.iterVar)) {
    if (exprKind.value.iterRange !== undefined) substitute(exprKind.value.iterRange, names);
    const inner = new Map(names);
    inner.delete(exprKind.value.iterVar);
    const { accuInit, loopCondition, loopStep, result } = exprKind.value;
    for (const part of [accuInit, loopCondition, loopStep, result]) if (part) substitute(part, inner);
    return;
  }
  for (const child of childExpressions(expr)) substitute(child, names);
}

function childExpressions({ exprKind }: Expr): Expr[] {
  switch (exprKind.case) {
    case 'selectExpr':
      return [exprKind.value.operand ?? []].flat();
    case 'callExpr':
      return [exprKind.value.target ?? [], exprKind.value.args].flat();
    case 'listExpr':
      return exprKind.value.elements;
    case 'structExpr':
      return exprKind.value.entries.flatMap(({ keyKind, value }) => [
        ...(keyKind.case === 'mapKey' ? [keyKind.value] : []),
        ...(value === undefined ? [] : [value]),
      ]);
    case 'comprehensionExpr': {
      const { iterRange, accuInit, loopCondition, loopStep, result } = exprKind.value;
      return [iterRange, accuInit, loopCondition, loopStep, result].flatMap((part) => part ?? []);
    }
    default:
      return [];
  }
}

function element(pair: string, index: bigint): Expr {
  const constant = {
    $typeName: 'cel.expr.Constant',
    constantKind: { case: 'int64Value', value: index },
  } as const;
  const position: Expr = {
    $typeName: 'cel.expr.Expr',
    id: 0n,
    exprKind: { case: 'constExpr', value: constant },
  };
  return call('_[_]', ident(pair), position);
}

function ident(name: string): Expr {
  const value = { $typeName: 'cel.expr.Expr.Ident', name } as const;
  return { $typeName: 'cel.expr.Expr', id: 0n, exprKind: { case: 'identExpr', value } };
}
