import type { ParseOptions } from './options.js';
import { CommentScanner } from './scan-comments.js';
import { TOKEN, Token } from './tokens.js';

/** A key without `?` has at most so many characters (YAML 1.2, section 7.4.2). */
const MAX_SIMPLE_KEY = 1024;
/** Parsed tokens are dropped once there are so many. */
const COMPACT_AT = 4096;

/** A token that turns out to be a key if a colon follows. */
interface SimpleKey {
  possible: boolean;
  /** Whether it is in braces, where a key of YAML 1.2 may have several lines. */
  readonly inBraces: boolean;
  /** The offset of the bracket or brace around it. */
  readonly opened: number | undefined;
  required: boolean;
  /** The number of the token, counted from the start of the text. */
  token: number;
  pos: number;
  row: number;
  column: number;
}

/** The tokens between the scanner and the parser. Tokens are inserted where a colon shows that a key started there. */
export abstract class TokenQueue extends CommentScanner {
  protected readonly indents: number[] = [];
  protected readonly simpleKeys: SimpleKey[] = [newKey()];
  /** Tokens that the parser has taken. */
  private taken = 0;
  protected ended = false;

  constructor(text: string, options: ParseOptions) {
    super(text, options);
    this.tokens.push(new Token(TOKEN.streamStart, this.pos, 0));
  }

  /** The next token, with at least two behind it. */
  next(): Token {
    while (this.head >= this.tokens.length - 2 || this.mayBeKey()) {
      if (this.ended) break;
      this.fetchToken();
    }
    return this.tokens[this.head]!;
  }

  take(): void {
    this.head++;
    this.taken++;
    if (this.head < COMPACT_AT) return;
    // The scanner looks at the last two.
    const drop = this.head - 2;
    this.tokens.splice(0, drop);
    this.head -= drop;
  }

  private mayBeKey(): boolean {
    for (const key of this.simpleKeys) {
      if (key.possible && key.token === this.taken) return this.isValidKey(key);
    }
    return false;
  }

  protected isValidKey(key: SimpleKey): boolean {
    if (!key.possible) return false;
    const isOnLine = key.row >= this.row || (key.inBraces && this.strict !== undefined);
    if (isOnLine && key.pos + MAX_SIMPLE_KEY >= this.pos) return true;
    if (key.required) this.failWithoutColon(key);
    key.possible = false;
    return false;
  }

  private failWithoutColon(key: SimpleKey): never {
    this.fail("could not find expected ':'", key.row, key.pos);
  }

  protected saveSimpleKey(): void {
    if (!this.simpleKeyAllowed) return;
    this.removeSimpleKey();
    const key = this.simpleKeys[this.simpleKeys.length - 1]!;
    key.possible = true;
    key.required = this.flowLevel === 0 && this.indent === this.column;
    key.token = this.taken + this.tokens.length - this.head;
    key.pos = this.pos;
    key.row = this.row;
    key.column = this.column;
  }

  protected removeSimpleKey(): void {
    const key = this.simpleKeys[this.simpleKeys.length - 1]!;
    if (key.possible && key.required) this.failWithoutColon(key);
    key.possible = false;
  }

  /** Inserts a token before the token with this number, or appends it. */
  protected insertToken(token: Token, number = -1): void {
    const { tokens } = this;
    tokens.push(token);
    if (number < 0) return;
    const index = this.head + number - this.taken;
    for (let i = tokens.length - 1; i > index; i--) tokens[i] = tokens[i - 1]!;
    tokens[index] = token;
  }

  /** Scans the next token. */
  protected abstract fetchToken(): void;

  protected rollIndent(column: number, number: number, type: number, pos: number, row: number): void {
    if (this.flowLevel > 0 || this.indent >= column) return;
    this.indents.push(this.indent);
    this.indent = column;
    this.insertToken(new Token(type, pos, row), number);
  }

  /** Closes the collections right of the column. They end before comments that belong to what is around them. */
  protected unrollIndent(column: number, scan: number, scanRow: number): void {
    if (this.flowLevel > 0) return;
    let start = scan - 1;
    let startRow = scanRow;
    while (this.indent > column) {
      let stop = start;
      for (let i = this.comments.length - 1; i >= this.commentHead; i--) {
        const comment = this.comments[i]!;
        if (comment.end < stop) break;
        if (comment.startColumn === this.indent + 1) {
          start = comment.start;
          startRow = comment.startRow;
        }
        stop = comment.scan;
      }
      this.insertToken(new Token(TOKEN.blockEnd, start, startRow));
      this.indent = this.indents.pop()!;
    }
  }
}

export function newKey(inBraces = false, opened?: number): SimpleKey {
  return { possible: false, inBraces, opened, required: false, token: 0, pos: 0, row: 0, column: 0 };
}
