import type { ResourceNode } from './node.js';

/** The lines of a comment, without the empty ones between them. */
export function commentLines(text: string): string[] {
  return text.split('\n').filter((line) => line.startsWith('#'));
}

/** How much more often a tree has each line of its comments than its other version. */
export function countCommentLines(tree: ResourceNode, other: ResourceNode): Map<string, number> {
  const counts = new Map<string, number>();
  visitLines(tree, (line) => counts.set(line, (counts.get(line) ?? 0) + 1));
  if (counts.size === 0) return counts;
  visitLines(other, (line) => {
    const count = counts.get(line);
    if (count !== undefined) counts.set(line, count - 1);
  });
  return counts;
}

function visitLines(node: ResourceNode, visit: (line: string) => void): void {
  for (const text of [node.head, node.line, node.foot]) if (text !== '') commentLines(text).forEach(visit);
  for (const child of node.content) visitLines(child, visit);
}
