import { isCertainlyText, type YamlNode, type YamlScalar } from './tree.js';

/**
 * Reports whether two documents have the same meaning for every reader. The order of keys does not count. `1` and `"1"`
 * differ; `nginx` and `"nginx"` do not.
 */
export function isSameYaml(a: YamlNode, b: YamlNode): boolean {
  if (a.kind === 'scalar' || b.kind === 'scalar') {
    return a.kind === 'scalar' && b.kind === 'scalar' && isSameScalar(a, b);
  }
  if (a.tag !== b.tag) return false;
  if (a.kind === 'list') {
    return (
      b.kind === 'list' &&
      a.items.length === b.items.length &&
      a.items.every((item, index) => isSameYaml(item, b.items[index]!))
    );
  }
  if (b.kind !== 'map' || a.entries.length !== b.entries.length) return false;
  const others = new Map(b.entries.map((entry) => [entry[0].value, entry]));
  return (
    others.size === b.entries.length &&
    a.entries.every(([key, value]) => {
      const other = others.get(key.value);
      return other !== undefined && isSameScalar(key, other[0]) && isSameYaml(value, other[1]);
    })
  );
}

function isSameScalar(a: YamlScalar, b: YamlScalar): boolean {
  if (a.tag !== b.tag || a.value !== b.value) return false;
  return a.plain === b.plain || isCertainlyText(a.value);
}
