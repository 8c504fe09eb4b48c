import { lineOf } from '../line-of.js';
import { type ResourceNode, STYLE } from '../nodes/node.js';
import { HASH, isBlank, isBreak, isGap } from '../parse/cursor.js';
import { Uneditable } from './uneditable.js';

/** The text of a document, with its lines and comments. Offsets are those of the text. */
export class DocumentText {
  readonly text: string;

  /** Where the lines start. */
  private readonly lines: number[];

  constructor(text: string) {
    this.text = text;
    // A byte order mark is before the first line.
    this.lines = [text.charCodeAt(0) === 0xfeff ? 1 : 0];
    for (let i = 0; i < text.length; i++) if (isBreak(text.charCodeAt(i))) this.lines.push(i + 1);
  }

  private line(at: number): number {
    return lineOf(this.lines, at);
  }

  lineStart(at: number): number {
    return Math.min(this.lines[this.line(at)]!, at);
  }

  /** The offset of the line break. */
  lineEnd(at: number): number {
    const next = this.lines[this.line(at) + 1];
    return next === undefined ? this.text.length : next - 1;
  }

  nextLine(at: number): number {
    return Math.min(this.lineEnd(at) + 1, this.text.length);
  }

  column(at: number): number {
    return at - this.lineStart(at);
  }

  passBlanks(at: number): number {
    let end = at;
    while (isBlank(this.text.charCodeAt(end))) end++;
    return end;
  }

  passEmptyLines(at: number): number {
    let end = at;
    while (end < this.text.length && isBreak(this.text.charCodeAt(this.passBlanks(end))))
      end = this.nextLine(end);
    return end;
  }

  /** Whether a value ends with a block scalar that keeps all line breaks. */
  isOpen(node: ResourceNode): boolean {
    const chomping = this.chomping(node);
    return chomping !== undefined && this.text.slice(chomping.start, chomping.end) === '+';
  }

  /** Where the block scalar at the end of a value says what becomes of its last line breaks; undefined if none is there. */
  chomping(node: ResourceNode): { start: number; end: number } | undefined {
    let last = node;
    while (last.content.length > 0) last = last.content[last.content.length - 1]!;
    if ((last.style & (STYLE.literal | STYLE.folded)) === 0) return undefined;
    let start = this.contentStart(last) + 1;
    if (/[0-9]/.test(this.text.charAt(start))) start++;
    return { start, end: /[-+]/.test(this.text.charAt(start)) ? start + 1 : start };
  }

  /** Whether only indentation is before it in its line. */
  startsLine(at: number): boolean {
    return this.passBlanks(this.lineStart(at)) >= at;
  }

  /** The comment, with the blanks before it, if nothing else is between an offset and the end of the line. */
  comment(at: number): string {
    const start = this.passBlanks(at);
    return start > at && this.text.charCodeAt(start) === HASH ? this.text.slice(at, this.lineEnd(at)) : '';
  }

  /** Where the comments start that are directly above the line of an offset, and below `limit`. */
  headStart(at: number, limit: number): number {
    let start = this.lineStart(at);
    while (start > limit) {
      const line = this.lineStart(start - 1);
      if (line < limit || this.commentColumn(line) === -1) break;
      start = line;
    }
    return start;
  }

  /** Behind the line of an offset, and behind comments below it that are further right than a column. */
  tailEnd(at: number, column: number): number {
    let end = this.nextLine(at);
    for (let line = end; line < this.text.length; line = this.nextLine(line)) {
      const found = this.commentColumn(line);
      if (found > column) end = this.nextLine(line);
      else if (found !== -1 || this.passBlanks(line) !== this.lineEnd(line)) break;
    }
    return end;
  }

  /** Behind comments that are below what ends at this start of a line: above an empty line, or the last of its column. */
  footEnd(at: number, column: number): number {
    let end = at;
    while (end < this.text.length && this.commentColumn(end) === column) end = this.nextLine(end);
    let next = end;
    while (next < this.text.length && this.commentColumn(next) !== -1) next = this.nextLine(next);
    const content = this.passBlanks(next);
    return next < this.text.length && content - next >= column && content !== this.lineEnd(next) ? at : end;
  }

  /** The column of a comment that is alone in its line, or -1. */
  private commentColumn(line: number): number {
    const start = this.passBlanks(line);
    return this.text.charCodeAt(start) === HASH ? start - line : -1;
  }

  /** Where a value starts behind its anchor and tag. */
  contentStart(node: ResourceNode): number {
    let properties = (node.anchor === '' ? 0 : 1) + (node.style & STYLE.tagged);
    let at = node.start;
    while (at < node.end) {
      const code = this.text.charCodeAt(at);
      if (isBlank(code) || isBreak(code)) at++;
      else if (code === HASH) at = this.lineEnd(at);
      else if (properties-- > 0) while (at < node.end && !isGap(this.text.charCodeAt(at))) at++;
      else break;
    }
    return at;
  }

  /** Behind the colon of a key. */
  colonEnd(key: ResourceNode): number {
    let at = key.end;
    for (;;) {
      at = this.passBlanks(at);
      const code = this.text.charCodeAt(at);
      if (code === HASH) at = this.lineEnd(at);
      else if (isBreak(code)) at++;
      else break;
    }
    if (this.text.charCodeAt(at) !== 0x3a) throw new Uneditable('a key has no colon');
    return at + 1;
  }
}
