import { HASH, isBlank, isBreak, isBreakOrEnd, isGap } from './cursor.js';
import { ScalarScanner } from './scan-scalars.js';
import { type Comment, TOKEN, type Token } from './tokens.js';

/** How far go-yaml looks ahead for a comment, in blanks and empty lines. */
const MAX_PEEK = 512;

/**
 * Finds out whether a comment is above, beside or below a node: it is a head comment of what follows, unless an empty
 * line or its indentation separates it from there. Then it is a foot comment of what precedes.
 */
export abstract class CommentScanner extends ScalarScanner {
  protected readonly tokens: Token[] = [];
  /** Tokens before this one have been parsed. */
  protected head = 0;
  protected readonly comments: Comment[] = [];
  /** Comments before this one belong to nodes that have been parsed. */
  protected commentHead = 0;

  protected scanLineComment(token: number): void {
    if (this.newlines > 0) return;
    let peek = 0;
    while (peek < MAX_PEEK && isBlank(this.at(peek))) peek++;
    if (peek === MAX_PEEK || this.at(peek) !== HASH) return;
    while (peek-- > 0) this.skipBlank();
    if (this.strict !== undefined) {
      this.comment();
      return;
    }
    const start = this.position();
    this.newlines = 0;
    this.addComment(token, start, 0, 0, 'line', this.comment());
  }

  /** Reads comments and empty lines up to the next token. `scan` is where the search for the token started. */
  protected scanComments(scan: number, scanRow: number): void {
    if (this.strict !== undefined) {
      this.comment();
      return;
    }
    let token = this.tokens[this.tokens.length - 1]!;
    if (token.type === TOKEN.flowEntry && this.tokens.length > 1)
      token = this.tokens[this.tokens.length - 2]!;
    let tokenMark = token.start;
    let start: Position = NOWHERE;
    let nextIndent = Math.max(this.indent, 0);
    let recentEmpty = false;
    let firstEmpty = this.newlines <= 1;
    let { row, column } = this;
    let text = '';
    // The row where a comment has to start in order to be below the content that precedes it.
    let footRow = -1;
    if (scanRow > 0) {
      footRow = this.row - this.newlines + 1;
      if (this.newlines === 0 && this.column > 1) footRow++;
    }
    const addFoot = (end: number): void => {
      this.addComment(tokenMark, start, scan, end, 'foot', text);
      scan = end;
      tokenMark = end;
      text = '';
    };

    let peek = 0;
    for (; peek < MAX_PEEK; peek++) {
      const code = this.at(peek);
      column++;
      if (isBlank(code)) continue;
      const closesFlow = this.flowLevel > 0 && (code === 0x5d || code === 0x7d);
      if (closesFlow || isBreakOrEnd(code)) {
        if (closesFlow || !recentEmpty) {
          if (
            closesFlow ||
            (firstEmpty &&
              ((start.row === footRow && token.type !== TOKEN.value) || start.column - 1 < nextIndent))
          ) {
            if (text !== '') {
              // A comment further to the left has nothing to do with the content that precedes it.
              if (start.column - 1 < nextIndent) tokenMark = start.pos;
              addFoot(this.pos + peek);
            }
          } else if (text !== '' && code !== 0) text += '\n';
        }
        if (!isBreak(code)) break;
        firstEmpty = false;
        recentEmpty = true;
        column = 0;
        row++;
        continue;
      }
      if (text !== '' && column - 1 < nextIndent && column !== start.column) addFoot(this.pos + peek);
      if (code !== HASH) break;
      if (text === '') start = { pos: this.pos + peek, row, column };
      else text += '\n';
      recentEmpty = false;
      const from = this.pos + peek;
      while (this.pos < from) {
        if (isBreak(this.at(0))) this.skipBreak();
        else this.skipBlank();
      }
      this.newlines = 0;
      text += this.comment();
      peek = 0;
      column = 0;
      row = this.row;
      nextIndent = Math.max(this.indent, 0);
    }
    if (text !== '') this.addComment(start.pos, start, scan, this.pos + peek - 1, 'head', text);
  }

  hasComments(): boolean {
    return this.commentHead < this.comments.length;
  }

  /** Takes the next comment that belongs to this token or to one before it. */
  nextComment(token: Token): Comment | undefined {
    const comment = this.comments[this.commentHead];
    if (comment === undefined || token.start < comment.token) return undefined;
    // The end of a block has no comment above it: that belongs to what follows.
    if (comment.head !== '' && token.type === TOKEN.blockEnd) return undefined;
    this.commentHead++;
    if (this.commentHead === this.comments.length) {
      this.comments.length = 0;
      this.commentHead = 0;
    }
    return comment;
  }

  private comment(): string {
    const { pos, strict } = this;
    if (strict !== undefined && pos > 0 && !isGap(this.text.charCodeAt(pos - 1))) {
      this.fail('a comment needs a space before its #');
    }
    const comment = this.restOfLine();
    strict?.comment(pos, this.pos);
    return comment;
  }

  private position(): Position {
    return { pos: this.pos, row: this.row, column: this.column };
  }

  private addComment(
    token: number,
    start: Position,
    scan: number,
    end: number,
    place: 'head' | 'line' | 'foot',
    text: string,
  ): void {
    const comment = {
      token,
      start: start.pos,
      startRow: start.row,
      startColumn: start.column,
      scan,
      end,
      head: '',
      line: '',
      foot: '',
    };
    comment[place] = text;
    this.comments.push(comment);
  }
}

interface Position {
  pos: number;
  row: number;
  column: number;
}

const NOWHERE: Position = { pos: 0, row: 0, column: 0 };
