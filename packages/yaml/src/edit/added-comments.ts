import { commentLines, countCommentLines } from '../nodes/comment-lines.js';
import { type ResourceNode, STYLE } from '../nodes/node.js';
import type { Child } from './block-parts.js';
import type { DocumentText } from './document-text.js';
import type { Splice } from './splices.js';

/**
 * The lines of comments that a function added: those that the tree has more often than the one before it. A comment that
 * moved or is missing is none of them.
 */
export class AddedComments {
  private readonly counts: Map<string, number>;
  private left = 0;

  constructor(before: ResourceNode, after: ResourceNode) {
    this.counts = countCommentLines(after, before);
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

/** Writes the comments that were added to an entry or an item. `body`: where its key or dash is. */
export function commentSplices(
  source: DocumentText,
  comments: AddedComments,
  before: Child,
  after: Child,
  body: number,
): Splice[] {
  const splices: Splice[] = [];
  if (comments.isEmpty) return splices;
  if (source.startsLine(body)) {
    const text = comments.take((after.key ?? after.value).head);
    const line = source.lineStart(body);
    const lines = text.replace(/^/gm, ' '.repeat(body - line));
    if (text !== '') splices.push({ start: line, end: line, text: `${lines}\n` });
  }
  const { key, value } = before;
  const isBlock = value.content.length > 0 && (value.style & STYLE.flow) === 0;
  if (isBlock && key === undefined) return splices;
  const start = isBlock ? source.colonEnd(key!) : (source.chomping(value)?.end ?? value.end);
  const old = source.comment(start);
  const isOwn = old === '' || old.trim() === key?.line || old.trim() === value.line;
  const text = isOwn ? comments.take(after.key?.line || after.value.line) : '';
  if (text !== '') splices.push({ start, end: start + old.length, text: ` ${text}` });
  return splices;
}
