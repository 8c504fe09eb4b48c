import { readMeaning } from './meaning.js';
import type { YamlNode, YamlScalar } from './tree.js';

/**
 * Reports whether two Kubernetes objects are the same JSON for readers in Go (go-yaml 3), such as kustomize. The order
 * of keys does not count, nor do quotes that change nothing: `1` and `"1"` differ, `nginx` and `"nginx"` do not.
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
  // Keys of objects are strings, however they are written.
  const others = new Map(b.entries.map(([key, value]) => [key.value, value]));
  return (
    others.size === b.entries.length &&
    a.entries.every(([key, value]) => {
      const other = others.get(key.value);
      return other !== undefined && isSameYaml(value, other);
    })
  );
}

/** Where readers could differ, only the same text is equal. */
function isSameScalar(a: YamlScalar, b: YamlScalar): boolean {
  const [one, other] = [readMeaning(a), readMeaning(b)];
  if (one.type === 'null' || other.type === 'null') return one.type === other.type;
  return one.type === other.type && one.value === other.value;
}
