import type { ResourceNode } from '../nodes/node.js';

/**
 * The lines of comments that a function added: those that the tree has more often than the one before it. A comment that
 * moved or is missing is none of them.
 */
export class AddedComments {
  private readonly counts = new Map<string, number>();
  private left = 0;

  constructor(before: ResourceNode, after: ResourceNode) {
    visitLines(after, (line) => this.counts.set(line, (this.counts.get(line) ?? 0) + 1));
    if (this.counts.size > 0) {
      visitLines(before, (line) => {
        const count = this.counts.get(line);
        if (count !== undefined) this.counts.set(line, count - 1);
      });
    }
    for (const count of this.counts.values()) this.left += Math.max(count, 0);
  }

  get isEmpty(): boolean {
    return this.left === 0;
  }

  /** Returns the lines of a comment that were added, and then counts them as written. */
  take(text: string): string {
    if (text === '' || this.isEmpty) return '';
    const added = commentLines(text).filter((line) => {
      const count = this.counts.get(line) ?? 0;
      if (count <= 0) return false;
      this.counts.set(line, count - 1);
      this.left--;
      return true;
    });
    return added.join('\n');
  }
}

function commentLines(text: string): string[] {
  return text.split('\n').filter((line) => line.startsWith('#'));
}

function visitLines(node: ResourceNode, visit: (line: string) => void): void {
  for (const text of [node.head, node.line, node.foot]) if (text !== '') commentLines(text).forEach(visit);
  for (const child of node.content) visitLines(child, visit);
}
