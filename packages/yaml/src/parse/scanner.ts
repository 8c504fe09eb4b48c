import { STYLE } from '../nodes/node.js';
import { END, isBlank, isBreak, isFlowIndicator, isGap, type Opened, SPACE, TAB } from './cursor.js';
import { OUTSIDE_BRACES, OUTSIDE_BRACKETS } from './outside.js';
import { newKey, TokenQueue } from './token-queue.js';
import { TOKEN, Token } from './tokens.js';

/**
 * Splits a document into tokens, two tokens ahead of the parser, because a comment can belong to a token before it.
 * Reads the language that libyaml and go-yaml 3 read, which is not in all details YAML 1.2.
 */
export class Scanner extends TokenQueue {
  protected fetchToken(): void {
    const scan = this.pos;
    const scanRow = this.row;
    this.scanToToken();
    this.unrollIndent(this.column, scan, scanRow);
    const code = this.at(0);
    if (code === END) {
      this.fetchEnd();
      return;
    }
    if (this.column === 0 && code === 0x25) {
      this.fetchDirective();
      return;
    }
    if (this.atDocumentMark()) {
      if (this.flowLevel > 0 && this.strict !== undefined) this.failInside(this.unclosed());
      this.closeBlocks();
      const type = code === 0x2d ? TOKEN.documentStart : TOKEN.documentEnd;
      this.insertToken(new Token(type, this.pos, this.row));
      this.skip(3);
      return;
    }
    let comment = this.pos;
    if (this.flowLevel === 0 ? code === 0x3a : code === 0x2c) {
      comment = this.tokens[this.tokens.length - 1]!.start;
    }
    this.fetchContent(code);
    // A dash has no comments beside it: they are above what follows.
    if (this.newlines === 0 && this.tokens[this.tokens.length - 1]!.type !== TOKEN.blockEntry) {
      this.scanLineComment(comment);
    }
  }

  private fetchContent(code: number): void {
    const inFlow = this.flowLevel > 0;
    switch (code) {
      case 0x5b: // [
      case 0x7b: // {
        this.fetchFlowStart(code === 0x5b ? TOKEN.flowSequenceStart : TOKEN.flowMappingStart);
        return;
      case 0x5d: // ]
      case 0x7d: // }
        this.fetchFlowEnd(code === 0x5d ? TOKEN.flowSequenceEnd : TOKEN.flowMappingEnd);
        return;
      case 0x2c: // ,
        this.removeSimpleKey();
        this.simpleKeyAllowed = true;
        this.fetchIndicator(TOKEN.flowEntry);
        return;
      case 0x2d: // -
        if (inFlow && this.strict !== undefined && isFlowIndicator(this.at(1))) this.failAtBlockInFlow();
        if (!isGap(this.at(1))) break;
        this.fetchBlockEntry();
        return;
      case 0x3f: // ?
        if (!this.isIndicator()) break;
        this.fetchKey();
        return;
      case 0x3a: // :
        if (!this.isIndicator() && !this.isAfterJson()) break;
        this.fetchValue();
        return;
      case 0x7c: // |
      case 0x3e: // >
        if (inFlow) break;
        if (this.strict !== undefined && this.column <= this.indent) {
          this.fail('the indentation does not match the surrounding lines');
        }
        this.removeSimpleKey();
        this.simpleKeyAllowed = true;
        this.insertToken(this.scanBlock(code === 0x7c));
        return;
    }
    if (!this.startsScalar(code)) this.fail('found character that cannot start any token');
    this.saveSimpleKey();
    this.simpleKeyAllowed = false;
    this.insertToken(this.scanInline(code));
  }

  /** Whether `?` or `:` is not the start of a scalar. */
  private isIndicator(): boolean {
    const next = this.at(1);
    if (isGap(next)) return true;
    return this.flowLevel > 0 && (this.strict === undefined || isFlowIndicator(next));
  }

  /** In brackets and braces, no space is needed behind the colon of a key that ends with a quote or a bracket. */
  private isAfterJson(): boolean {
    if (this.flowLevel === 0) return false;
    const { type, style } = this.tokens[this.tokens.length - 1]!;
    if (type === TOKEN.scalar) return (style & (STYLE.singleQuoted | STYLE.doubleQuoted)) !== 0;
    return type === TOKEN.flowSequenceEnd || type === TOKEN.flowMappingEnd;
  }

  private failAtBlockInFlow(): never {
    this.fail('an indented list or mapping cannot be inside [] or {}');
  }

  private scanInline(code: number): Token {
    switch (code) {
      case 0x2a: // *
        return this.scanAnchor(TOKEN.alias);
      case 0x26: // &
        return this.scanAnchor(TOKEN.anchor);
      case 0x21: // !
        return this.scanTag();
      case 0x27: // '
      case 0x22: // "
        return this.scanQuoted(code);
      default:
        return this.scanPlain();
    }
  }

  private startsScalar(code: number): boolean {
    switch (code) {
      case 0x2d: // -
        return !isBlank(this.at(1));
      case 0x3f: // ?
        // In brackets and braces, go-yaml reads it as an indicator.
        return this.flowLevel === 0;
      case 0x3a: // :
        return this.flowLevel === 0 || this.strict !== undefined;
      case SPACE:
      case TAB:
      case 0x7c: // |
      case 0x3e: // >
      case 0x25: // %
      case 0x40: // @
      case 0x60: // `
        return false;
      default:
        return true;
    }
  }

  private scanToToken(): void {
    const scan = this.pos;
    const scanRow = this.row;
    let lineStart = this.lineAfterPlain;
    this.lineAfterPlain = -1;
    for (;;) {
      let code = this.at(0);
      if (code === 0xfeff && this.column === 0 && this.pos === 0) {
        this.pos++;
        code = this.at(0);
      }
      while (code === SPACE || (code === TAB && (this.flowLevel > 0 || !this.simpleKeyAllowed))) {
        this.skipBlank();
        code = this.at(0);
      }
      if (code === TAB && this.strict !== undefined) {
        const isEmpty = this.blanksToEnd() > 0;
        if (isEmpty || this.column > this.indent) {
          this.skipBlanks();
          // A tab separates, but what starts behind it has no column.
          if (!isEmpty) this.simpleKeyAllowed = false;
          code = this.at(0);
        }
      }
      if (this.comments.length > this.commentHead) this.moveItemComment(code);
      if (code === 0x23) {
        this.scanComments(scan, scanRow);
        code = this.at(0);
      }
      if (!isBreak(code)) break;
      this.skipBreak();
      lineStart = this.pos;
      if (this.flowLevel === 0) this.simpleKeyAllowed = true;
    }
    if (lineStart !== -1 && this.flowLevel > 0) {
      const code = this.at(0);
      const isLast = this.flowLevel === 1 && (code === 0x5d || code === 0x7d);
      if (this.isOutside(lineStart, isLast ? this.indent : undefined))
        this.failInside(this.unclosed(), lineStart);
    }
  }

  protected unclosed(): Opened {
    const { inBraces, opened } = this.simpleKeys[this.simpleKeys.length - 1]!;
    return { reason: inBraces ? OUTSIDE_BRACES : OUTSIDE_BRACKETS, opened };
  }

  /** A comment beside the first dash of a list is above the content that follows. */
  private moveItemComment(code: number): void {
    const { tokens } = this;
    if (tokens.length < 2 || isBreak(code)) return;
    if (tokens[tokens.length - 1]!.type !== TOKEN.blockEntry) return;
    if (tokens[tokens.length - 2]!.type !== TOKEN.blockSequenceStart) return;
    const comment = this.comments[this.comments.length - 1]!;
    if (comment.line === '') return;
    comment.head = comment.line;
    comment.line = '';
    if (comment.startRow === this.row - 1) comment.token = this.pos;
  }

  private closeBlocks(): void {
    this.unrollIndent(-1, this.pos, this.row);
    this.removeSimpleKey();
    this.simpleKeyAllowed = false;
  }

  private fetchEnd(): void {
    if (this.column !== 0) {
      this.column = 0;
      this.row++;
    }
    this.closeBlocks();
    this.insertToken(new Token(TOKEN.streamEnd, this.pos, this.row));
    this.ended = true;
  }

  private fetchDirective(): void {
    this.closeBlocks();
    const { pos, row } = this;
    const line = this.restOfLine();
    const version = /^%YAML[ \t]+([0-9]{1,2}\.[0-9]{1,2})[ \t]*(?:#.*)?$/.exec(line);
    const tag =
      /^%TAG[ \t]+(!(?:[0-9A-Za-z_-]*!)?)[ \t]+([-0-9A-Za-z_;/?:@&=+$,.!~*'()[\]]+)[ \t]*(?:#.*)?$/.exec(
        line,
      );
    if (this.strict !== undefined) this.strict.directive(pos, this.pos);
    else if (version !== null) this.insertToken(new Token(TOKEN.versionDirective, pos, row, version[1]!));
    else if (tag !== null) this.insertToken(new Token(TOKEN.tagDirective, pos, row, tag[1]!, 0, tag[2]!));
    else this.fail('found an invalid directive', row);
    this.newlines = 0;
    if (isBreak(this.at(0))) this.skipBreak();
  }

  private fetchIndicator(type: number): void {
    this.insertToken(new Token(type, this.pos, this.row));
    this.skip(1);
  }

  private fetchFlowStart(type: number): void {
    this.saveSimpleKey();
    this.simpleKeys.push(newKey(type === TOKEN.flowMappingStart, this.pos));
    this.flowLevel++;
    this.simpleKeyAllowed = true;
    this.fetchIndicator(type);
  }

  private fetchFlowEnd(type: number): void {
    this.removeSimpleKey();
    if (this.flowLevel > 0) {
      this.flowLevel--;
      this.simpleKeys.pop();
    }
    this.simpleKeyAllowed = false;
    this.fetchIndicator(type);
  }

  private fetchBlockEntry(): void {
    if (this.flowLevel === 0) {
      if (!this.simpleKeyAllowed) this.fail('block sequence entries are not allowed in this context');
      this.rollIndent(this.column, -1, TOKEN.blockSequenceStart, this.pos, this.row);
    }
    this.removeSimpleKey();
    this.simpleKeyAllowed = true;
    this.fetchIndicator(TOKEN.blockEntry);
  }

  private fetchKey(): void {
    if (this.flowLevel === 0) {
      if (!this.simpleKeyAllowed) this.fail('mapping keys are not allowed in this context');
      this.rollIndent(this.column, -1, TOKEN.blockMappingStart, this.pos, this.row);
    }
    this.removeSimpleKey();
    this.simpleKeyAllowed = this.flowLevel === 0;
    this.fetchIndicator(TOKEN.key);
  }

  private fetchValue(): void {
    const key = this.simpleKeys[this.simpleKeys.length - 1]!;
    if (this.isValidKey(key)) {
      this.insertToken(new Token(TOKEN.key, key.pos, key.row), key.token);
      this.rollIndent(key.column, key.token, TOKEN.blockMappingStart, key.pos, key.row);
      key.possible = false;
      this.simpleKeyAllowed = false;
    } else {
      if (this.flowLevel === 0) {
        if (!this.simpleKeyAllowed) {
          const { start } = this.tokens[this.tokens.length - 1]!;
          this.fail('mapping values are not allowed in this context', this.row, start, this.pos + 1);
        }
        this.rollIndent(this.column, -1, TOKEN.blockMappingStart, this.pos, this.row);
      }
      this.simpleKeyAllowed = this.flowLevel === 0;
    }
    this.fetchIndicator(TOKEN.value);
  }
}
