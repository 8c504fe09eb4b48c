import { Scanner } from './scanner.js';
import type { Source } from './source.js';
import type { Token, TokenKind } from './tokens.js';

/** Nested statements and expressions; far below the depth at which JavaScript's own stack ends. */
const MAX_NESTING = 300;
/** Suffixes of one expression and of an expression in it: `f(x)[i].y`. They nest like expressions. */
export const MAX_SUFFIXES = 400;

/** The tokens of a program with one token of lookahead. */
export class TokenStream {
  readonly #scanner: Scanner;
  #depth = 0;
  /** The most suffixes of an expression parsed last, with those inside. */
  suffixes = 0;
  /** The next token. */
  token: Token;
  /** The end of the last token that was taken. */
  lastEnd = 0;

  constructor(source: Source) {
    this.#scanner = new Scanner(source);
    this.token = this.#scanner.next();
  }

  /** Returns the kind of the next token. */
  peek(): TokenKind {
    return this.token.kind;
  }

  /** Takes the next token. */
  take(): Token {
    const { token } = this;
    this.lastEnd = token.end;
    if (token.kind !== 'end of file') this.token = this.#scanner.next();
    return token;
  }

  /** Takes the next token if it is of this kind. */
  accept(kind: TokenKind): Token | undefined {
    return this.token.kind === kind ? this.take() : undefined;
  }

  /** Takes the next token, which must be of this kind. */
  expect(kind: TokenKind): Token {
    if (this.token.kind !== kind) this.unexpected(`want ${describeKind(kind)}`);
    return this.take();
  }

  /** Throws a syntax error at the next token: `got 'x', want …`. */
  unexpected(want: string): never {
    const { kind, value, start } = this.token;
    const got = kind === 'reserved word' ? `reserved word ${value}` : describeKind(kind);
    return this.fail(start, `got ${got}, ${want}`);
  }

  fail(offset: number, message: string): never {
    return this.#scanner.fail(offset, message);
  }

  /** Parses something that may contain itself. */
  nested<T>(parse: () => T): T {
    if (++this.#depth > MAX_NESTING) this.fail(this.token.start, 'excessive nesting');
    const result = parse();
    this.#depth--;
    return result;
  }
}

/** Returns how messages call a kind of token. */
export function describeKind(kind: TokenKind): string {
  switch (kind) {
    case 'int':
    case 'float':
    case 'string':
    case 'bytes':
      return `${kind} literal`;
    case 'identifier':
    case 'newline':
    case 'indent':
    case 'outdent':
    case 'end of file':
      return kind;
    default:
      return /^[a-z]/.test(kind) ? kind : `'${kind}'`;
  }
}
