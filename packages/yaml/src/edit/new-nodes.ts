import { isAmbiguous } from '../nodes/ambiguous-text.js';
import { ResourceNode, STYLE, TEXT_STYLES } from '../nodes/node.js';
import { resolveTag } from '../parse/resolve-tag.js';
import type { AddedComments } from './added-comments.js';
import { resolved, scalarTag } from './equal-value.js';
import { Uneditable } from './uneditable.js';

/** Nodes that one document may get. */
const MAX_NODES = 1_000_000;

/** Text that a block scalar can hold only if it keeps all line breaks below it. */
const OPEN = /^\n+$|\n\n$/;

/** Line breaks of YAML 1.1: readers take them for others. */
const OTHER_BREAK = /[\x85\u2028\u2029]/;

const QUOTES = STYLE.singleQuoted | STYLE.doubleQuoted;

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

  copy(given: ResourceNode, inFlow = false): ResourceNode {
    if (++this.count > MAX_NODES) throw new Uneditable('the aliases expand to too many values');
    const node = resolved(given);
    const copy = new ResourceNode(node.kind, node.tag, node.style, node.value);
    copy.head = this.comments.take(given.head);
    copy.line = this.comments.take(given.line);
    if (this.isJson) copy.style &= ~STYLE.flow;
    if (node.kind === 'scalar') {
      if (this.isJson) copy.style &= ~STYLE.doubleQuoted;
      if (isBare(copy) && isAmbiguous(node.value)) setStyle(copy, STYLE.doubleQuoted);
      // In single quotes, its lines would be lines of the text.
      const isSingle = (copy.style & STYLE.singleQuoted) !== 0 && node.value.includes('\n');
      if (isSingle || OPEN.test(node.value) || OTHER_BREAK.test(node.value))
        setStyle(copy, STYLE.doubleQuoted);
    }
    const isFlow = inFlow || (copy.style & STYLE.flow) !== 0;
    // The writer would put it in quotes.
    if (isFlow && node.tag === '!!null' && node.value === '') copy.value = 'null';
    for (const child of node.content) copy.content.push(this.copy(child, isFlow));
    return copy;
  }

  /**
   * A copy of a value that takes the place of another one: a scalar has its style, if that can hold it. `isOpen`: no
   * empty line is below it.
   */
  styled(before: ResourceNode, after: ResourceNode, isOpen: boolean): ResourceNode {
    const copy = this.copy(after);
    // The line keeps the comment that it has.
    if (before.line !== '') copy.line = '';
    copy.head = '';
    if (before.kind !== 'scalar' || copy.kind !== 'scalar' || (copy.style & STYLE.tagged) !== 0) return copy;
    if (scalarTag(after) !== '!!str' || OTHER_BREAK.test(copy.value)) return copy;
    copy.tag = '!!str';
    const { value } = copy;
    const style = before.style & TEXT_STYLES;
    if (style === 0) {
      if (!isAmbiguous(value) && !value.includes('\n')) setStyle(copy, 0);
    } else if ((style & QUOTES) !== 0) setStyle(copy, value.includes('\n') ? STYLE.doubleQuoted : style);
    else if (isOpen || !OPEN.test(value)) setStyle(copy, style);
    return copy;
  }
}

/** Whether it is text without quotes or a tag. */
function isBare({ tag, style, value }: ResourceNode): boolean {
  if ((style & (TEXT_STYLES | STYLE.tagged)) !== 0) return false;
  return tag === '!!str' || (tag === '' && value !== '<<' && resolveTag(value) === '!!str');
}

function setStyle(node: ResourceNode, style: number): void {
  node.style = (node.style & ~TEXT_STYLES) | style;
}
