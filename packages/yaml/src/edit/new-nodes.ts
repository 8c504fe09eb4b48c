import { ResourceNode, STYLE } from '../nodes/node.js';
import type { AddedComments } from './added-comments.js';
import { resolved } from './equal-value.js';
import { styledLike } from './render.js';
import { Uneditable } from './uneditable.js';

/** Nodes that one document may get. */
const MAX_NODES = 1_000_000;

/** Prepares nodes of the new tree for the text: without anchors and aliases, and with comments only where they are new. */
export class NewNodes {
  private readonly comments: AddedComments;
  /** The tree is JSON: its style says nothing. */
  private readonly isJson: boolean;
  private count = 0;

  constructor(comments: AddedComments, isJson: boolean) {
    this.comments = comments;
    this.isJson = isJson;
  }

  copy(given: ResourceNode): ResourceNode {
    if (++this.count > MAX_NODES) throw new Uneditable('the aliases expand to too many values');
    const node = resolved(given);
    const copy = new ResourceNode(node.kind, node.tag, node.style, node.value);
    if (this.isJson) copy.style &= ~(STYLE.flow | STYLE.doubleQuoted);
    copy.head = this.comments.take(given.head);
    copy.line = this.comments.take(given.line);
    for (const child of node.content) copy.content.push(this.copy(child));
    return copy;
  }

  /** A copy of a value that takes the place of another one, in its style if that is possible. */
  styled(before: ResourceNode, after: ResourceNode): ResourceNode {
    const copy = styledLike(before, this.copy(after));
    // The line keeps the comment that it has.
    if (before.line !== '') copy.line = '';
    copy.head = '';
    return copy;
  }
}
