import type { ResourceNode } from '../nodes/node.js';

/**
 * The comments that a function added: texts that the tree has more often than the one before it. A comment that moved
 * or is missing is none of them.
 */
export class AddedComments {
  private readonly counts = new Map<string, number>();
  private left = 0;

  constructor(before: ResourceNode, after: ResourceNode) {
    visitComments(after, (text) => this.counts.set(text, (this.counts.get(text) ?? 0) + 1));
    if (this.counts.size > 0) {
      visitComments(before, (text) => {
        const count = this.counts.get(text);
        if (count !== undefined) this.counts.set(text, count - 1);
      });
    }
    for (const count of this.counts.values()) this.left += Math.max(count, 0);
  }

  get isEmpty(): boolean {
    return this.left === 0;
  }

  /** Returns a comment if it was added, and then counts it as written. */
  take(text: string): string {
    const count = this.counts.get(text) ?? 0;
    if (text === '' || count <= 0) return '';
    this.counts.set(text, count - 1);
    this.left--;
    return text;
  }
}

function visitComments(node: ResourceNode, visit: (text: string) => void): void {
  if (node.head !== '') visit(node.head);
  if (node.line !== '') visit(node.line);
  for (const child of node.content) visitComments(child, visit);
}
