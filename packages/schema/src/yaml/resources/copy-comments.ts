import { isNull } from './fields.js';
import { type ResourceNode, rootOf, STYLE } from './node.js';

/**
 * Copies comments to the same fields of another version of a resource, where they have none: after a function that lost
 * them. List items are matched by their index, as kyaml does. Does not change `from`.
 */
export function copyComments(from: ResourceNode, to: ResourceNode): void {
  copyOwn(from, to);
  copyBelow(rootOf(from), rootOf(to));
}

function copyOwn(from: ResourceNode, to: ResourceNode): void {
  if (to.line === '') to.line = from.line;
  if (to.head === '') to.head = from.head;
  if (to.foot === '') to.foot = from.foot;
}

function copyBelow(from: ResourceNode | undefined, to: ResourceNode): void {
  if (from === undefined) {
    unfold(to);
    return;
  }
  const kind = isNull(from) ? to.kind : from.kind;
  if (kind === 'alias' || (kind !== to.kind && !isNull(to))) return;
  if (kind === 'scalar') unfold(to);
  copyOwn(from, to);
  if (kind === 'map') copyMap(from, to);
  else if (kind === 'list') copyList(from, to);
}

/** A comment beside a folded scalar cannot be written, so kyaml puts the scalar in quotes. */
function unfold(node: ResourceNode): void {
  if (node.kind === 'scalar' && node.style === STYLE.folded) node.style = STYLE.doubleQuoted;
}

function copyMap(from: ResourceNode, to: ResourceNode): void {
  const { content } = to;
  for (let i = 0; i + 1 < content.length; i += 2) {
    const key = content[i]!;
    // Most functions keep the order.
    const same = from.content[i];
    let index = i;
    if (same?.value !== key.value || same.kind !== 'scalar') index = keyIndex(from, key.value);
    if (index === -1) copyBelow(undefined, content[i + 1]!);
    else {
      copyOwn(from.content[index]!, key);
      copyBelow(from.content[index + 1]!, content[i + 1]!);
    }
  }
}

function keyIndex(map: ResourceNode, name: string): number {
  for (let i = 0; i + 1 < map.content.length; i += 2) if (map.content[i]!.value === name) return i;
  return -1;
}

function copyList(from: ResourceNode, to: ResourceNode): void {
  const length = Math.min(from.content.length, to.content.length);
  for (let i = 0; i < length; i++) {
    const item = from.content[i]!;
    if (item.value === to.content[i]!.value) copyComments(item, to.content[i]!);
  }
}
