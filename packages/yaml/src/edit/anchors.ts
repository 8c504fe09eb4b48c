import type { ResourceNode } from '../nodes/node.js';
import { type Meanings, resolved } from './equal-value.js';

/** What becomes of the anchors of a document, in its order: an alias stays only where it still means what it has to. */
export class Anchors {
  private readonly meanings: Meanings;
  /** Nodes with an anchor that have another value, or none. */
  private readonly changed = new Map<ResourceNode, ResourceNode | undefined>();
  /** Nodes with an alias in them. */
  private readonly aliased = new Set<ResourceNode>();
  /** Nodes with an anchor in them. */
  private readonly anchored = new Set<ResourceNode>();
  /** How often collections with items that move have a name of an anchor in them. */
  private readonly names = new Map<ResourceNode, Map<string, number>>();

  constructor(document: ResourceNode, meanings: Meanings) {
    this.meanings = meanings;
    this.find(document);
  }

  private find(node: ResourceNode): void {
    if (node.kind === 'alias') this.aliased.add(node);
    if (node.anchor !== '') this.anchored.add(node);
    for (const child of node.content) {
      this.find(child);
      if (this.aliased.has(child)) this.aliased.add(node);
      if (this.anchored.has(child)) this.anchored.add(node);
    }
  }

  /** Whether anchors and aliases in an item have to do with those in others of its list, so that it cannot move. */
  isBound(item: ResourceNode, list: ResourceNode): boolean {
    if (!this.aliased.has(item) && !this.anchored.has(item)) return false;
    const all = this.names.get(list) ?? countNames(list, new Map());
    this.names.set(list, all);
    return [...countNames(item, new Map())].some(([name, count]) => count !== all.get(name));
  }

  /** Whether aliases in a value may have got another meaning. */
  mayChange(node: ResourceNode): boolean {
    return this.changed.size > 0 && this.aliased.has(node);
  }

  change(before: ResourceNode, after: ResourceNode): void {
    if (before.anchor !== '') this.changed.set(before, after);
  }

  remove(node: ResourceNode): void {
    if (!this.anchored.has(node)) return;
    if (node.anchor !== '') this.changed.set(node, undefined);
    this.removeBelow(node);
  }

  removeBelow(node: ResourceNode): void {
    if (this.anchored.has(node)) for (const child of node.content) this.remove(child);
  }

  /** The value of a node, or of what an alias refers to, after the changes so far; undefined if it is removed. */
  current(node: ResourceNode): ResourceNode | undefined {
    const target = resolved(node);
    return this.changed.has(target) ? this.changed.get(target) : target;
  }

  /** Whether an alias is kept, is expanded, or becomes the place of the anchor, whose node is removed. */
  resolve(alias: ResourceNode, after: ResourceNode): 'kept' | 'expanded' | 'moved' {
    const now = this.current(alias);
    if (now !== undefined) return this.meanings.equal(now, after) ? 'kept' : 'expanded';
    if (!this.meanings.equal(alias, after)) return 'expanded';
    this.changed.set(alias.target!, after);
    return 'moved';
  }
}

function countNames(node: ResourceNode, counts: Map<string, number>): Map<string, number> {
  const name = node.kind === 'alias' ? node.value : node.anchor;
  if (name !== '') counts.set(name, (counts.get(name) ?? 0) + 1);
  for (const child of node.content) countNames(child, counts);
  return counts;
}
