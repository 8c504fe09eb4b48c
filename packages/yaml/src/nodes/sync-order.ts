import { documentRoot, type ResourceNode } from './node.js';

/** Brings the keys of all maps in `to` into the order of `from`; keys that only `to` has come last. As kyaml does. */
export function syncOrder(from: ResourceNode, to: ResourceNode): void {
  sync(documentRoot(from), documentRoot(to));
  moveItemComments(documentRoot(to));
}

function sync(from: ResourceNode, to: ResourceNode): void {
  if (from.kind !== to.kind || from.content.length === 0 || to.content.length === 0) return;
  if (from.kind === 'map') syncMap(from, to);
  else if (from.kind === 'list') {
    const length = Math.min(from.content.length, to.content.length);
    for (let i = 0; i < length; i++) sync(from.content[i]!, to.content[i]!);
  }
}

function syncMap(from: ResourceNode, to: ResourceNode): void {
  const { content } = to;
  if (hasSameKeys(from, to)) {
    for (let i = 1; i < content.length; i += 2) sync(from.content[i]!, content[i]!);
    return;
  }
  const indexes = new Map<string, number>();
  for (let i = 0; i + 1 < content.length; i += 2) {
    if (!indexes.has(content[i]!.value)) indexes.set(content[i]!.value, i);
  }
  const sorted: ResourceNode[] = [];
  for (let i = 0; i + 1 < from.content.length; i += 2) {
    const index = indexes.get(from.content[i]!.value);
    if (index === undefined) continue;
    indexes.delete(from.content[i]!.value);
    sorted.push(content[index]!, content[index + 1]!);
    sync(from.content[i + 1]!, content[index + 1]!);
  }
  for (const index of indexes.values()) sorted.push(content[index]!, content[index + 1]!);
  to.content = sorted;
}

function hasSameKeys(from: ResourceNode, to: ResourceNode): boolean {
  if (from.content.length !== to.content.length) return false;
  for (let i = 0; i < from.content.length; i += 2) {
    if (from.content[i]!.value !== to.content[i]!.value) return false;
  }
  return true;
}

/** The comment above the first key of a list item moves above the item. */
function moveItemComments(node: ResourceNode): void {
  if (node.kind === 'map') {
    for (const child of node.content) if (child.content.length > 0) moveItemComments(child);
  } else if (node.kind === 'list') {
    for (const item of node.content) {
      const first = item.content[0];
      if (first?.kind !== 'scalar' || first.head === '') continue;
      if (item.head === '') item.head = first.head;
      else {
        item.head = `${item.head}\n${first.head}`;
        first.head = '';
      }
    }
  }
}
