import { isNull } from './fields.js';
import type { ResourceNode } from './node.js';

/**
 * Reports whether two nodes without aliases have the same value, whatever their style and the order of their keys.
 * Numbers have to be written the same: readers differ about `010`, and a double does not keep every integer.
 */
export function isSameValue(a: ResourceNode, b: ResourceNode): boolean {
  if (isNull(a) || isNull(b)) return isNull(a) && isNull(b);
  if (a.kind !== b.kind || a.tag !== b.tag || a.content.length !== b.content.length) return false;
  if (a.kind === 'scalar') return a.value === b.value;
  if (a.kind === 'list') return a.content.every((item, at) => isSameValue(item, b.content[at]!));
  const others = new Map<string, ResourceNode>();
  for (let at = 0; at < b.content.length; at += 2) others.set(b.content[at]!.value, b.content[at + 1]!);
  for (let at = 0; at < a.content.length; at += 2) {
    const other = others.get(a.content[at]!.value);
    if (other === undefined || !isSameValue(a.content[at + 1]!, other)) return false;
  }
  return true;
}
