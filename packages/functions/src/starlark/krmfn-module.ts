import {
  Builtin,
  type BuiltinBody,
  Dict,
  Module,
  unpackArguments,
  type Value,
  wantString,
} from '@krmhub/starlark';

/** The module `krmfn` of kpt: predicates on resources. A field that is missing counts as empty text. */
export const KRMFN = new Module('krmfn', [
  [
    'match_gvk',
    matcher('match_gvk', ['api_version', 'kind'], (resource, [apiVersion, kind]) => {
      return textAt(resource, 'apiVersion') === apiVersion && textAt(resource, 'kind') === kind;
    }),
  ],
  [
    'match_name',
    matcher('match_name', ['name'], (resource, [name]) => textAt(resource, 'metadata', 'name') === name),
  ],
  [
    'match_namespace',
    matcher('match_namespace', ['namespace'], (resource, [namespace]) => {
      return textAt(resource, 'metadata', 'namespace') === namespace;
    }),
  ],
]);

function matcher(
  name: string,
  parameters: readonly string[],
  matches: (resource: Value, texts: readonly string[]) => boolean,
): Builtin {
  const body: BuiltinBody = (_, args, kwargs) => {
    const [resource, ...values] = unpackArguments(name, args, kwargs, ['resource', ...parameters]);
    const texts = parameters.map((parameter, index) => wantString(name, parameter, values[index]!));
    return matches(resource!, texts);
  };
  return new Builtin(name, body);
}

function textAt(value: Value, ...path: readonly string[]): string {
  let found: Value = value;
  for (const key of path) {
    if (!(found instanceof Dict)) return '';
    found = found.get(key) ?? null;
  }
  return typeof found === 'string' ? found : '';
}
