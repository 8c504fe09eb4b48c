import type { ResourceNode } from '../nodes/node.js';

/** Counts the values that the aliases of a document expand to. Each anchored node is counted once. */
export class AliasSizes {
  private readonly sizes = new Map<ResourceNode, number>();
  private total = 0;

  /** Returns the total with one more alias of this node. */
  add(target: ResourceNode): number {
    this.total += this.sizeOf(target);
    return this.total;
  }

  clear(): void {
    this.sizes.clear();
    this.total = 0;
  }

  private sizeOf(node: ResourceNode): number {
    if (node.kind === 'alias') return node.target === undefined ? 1 : this.sizeOf(node.target);
    if (node.anchor === '') return this.count(node);
    let size = this.sizes.get(node);
    if (size === undefined) {
      size = this.count(node);
      this.sizes.set(node, size);
    }
    return size;
  }

  private count({ kind, content }: ResourceNode): number {
    let size = 1;
    // Keys are not values.
    for (let i = kind === 'map' ? 1 : 0; i < content.length; i += kind === 'map' ? 2 : 1) {
      size += this.sizeOf(content[i]!);
    }
    return size;
  }
}
