import type { CelEnv, CelType, parse } from '@bufbuild/cel';

type Expr = NonNullable<ReturnType<typeof parse>['expr']>;
type Types = ReadonlySet<string>;

const BOOLEAN: Types = new Set(['bool']);
const LITERALS: Readonly<Record<string, string>> = {
  stringValue: 'string',
  bytesValue: 'bytes',
  doubleValue: 'double',
  boolValue: 'bool',
  int64Value: 'int',
  uint64Value: 'uint',
  nullValue: 'null_type',
};
/** Operators that the library evaluates itself, without a function. */
const LOGICAL = new Set(['_&&_', '_||_', '!_', '@not_strictly_false']);

/**
 * Returns the types that the value of a parsed expression can have, by its last operation; undefined if they are not
 * known, as those of a field. The library has no checker of types.
 */
export function resultTypes(
  { exprKind }: Expr,
  env: CelEnv,
  known: ReadonlyMap<string, Types> = new Map(),
): Types | undefined {
  switch (exprKind.case) {
    case 'constExpr':
      return singleType(LITERALS[exprKind.value.constantKind.case ?? '']);
    case 'listExpr':
      return singleType('list');
    case 'structExpr':
      return exprKind.value.messageName === '' ? singleType('map') : undefined;
    case 'identExpr':
      return known.get(exprKind.value.name);
    case 'selectExpr':
      return exprKind.value.testOnly ? BOOLEAN : undefined;
    case 'comprehensionExpr': {
      const { accuVar, accuInit, result } = exprKind.value;
      const types = accuInit && resultTypes(accuInit, env, known);
      return (
        result && resultTypes(result, env, types === undefined ? known : new Map(known).set(accuVar, types))
      );
    }
    case 'callExpr': {
      const { function: name, args, target } = exprKind.value;
      if (LOGICAL.has(name)) return BOOLEAN;
      if (name === '_?_:_') {
        const [then, otherwise] = args.slice(1).map((branch) => resultTypes(branch, env, known));
        return then && otherwise && new Set([...then, ...otherwise]);
      }
      const { exprKind: holder } = target ?? {};
      const qualified = holder?.case === 'identExpr' ? `${holder.value.name}.${name}` : name;
      const all = [...env.funcs];
      const found = all.filter((one) => one.name === qualified);
      const results = (found.length > 0 ? found : all.filter((one) => one.name === name)).map(typeName);
      return results.length === 0 || results.includes('dyn') ? undefined : new Set(results);
    }
    default:
      return undefined;
  }
}

function singleType(name: string | undefined): Types | undefined {
  return name === undefined ? undefined : new Set([name]);
}

function typeName({ result }: { result: CelType }): string {
  return result.kind === 'list' || result.kind === 'map' ? result.kind : result.name;
}
