import type { ResourceNode } from '../nodes/node.js';
import { type ExceededLimit, YamlProblem } from './invalid.js';
import type { ParseOptions } from './options.js';
import { Scanner } from './scanner.js';
import { TOKEN, type Token } from './tokens.js';

/** Takes tokens from the scanner, and collects the comments at them for the next node. */
export abstract class CommentedTokens {
  /** The offset of the bracket or brace around what is parsed. The scanner is ahead: it may be in another one. */
  protected opened: number | undefined;
  protected readonly options: ParseOptions;
  // Comments of tokens that the parser has seen, for the next node.
  protected head = '';
  protected line = '';
  protected foot = '';
  /** The comment above a list item that is itself a collection. */
  protected stem = '';
  /** The end of the last token with a width that was taken. */
  protected lastEnd: number;
  private readonly scanner: Scanner;
  private token: Token | undefined;

  constructor(text: string, options: ParseOptions) {
    this.scanner = new Scanner(text, options);
    this.options = options;
    this.lastEnd = options.start;
  }

  /** Assigns the comments up to the next token, and returns it. */
  protected peek(): Token {
    const token = this.scanner.next();
    this.token = token;
    if (this.scanner.hasComments()) {
      for (
        let comment = this.scanner.nextComment(token);
        comment !== undefined;
        comment = this.scanner.nextComment(token)
      ) {
        if (comment.head !== '') this.head = join(this.head, comment.head);
        if (comment.foot !== '') this.foot = join(this.foot, comment.foot);
        if (comment.line !== '') this.line = join(this.line, comment.line);
      }
    }
    return token;
  }

  protected take(): void {
    if (this.token!.type > TOKEN.blockEnd) this.lastEnd = this.token!.end;
    this.scanner.take();
  }

  protected takeComments(node: ResourceNode): void {
    node.head = this.head;
    node.line = this.line;
    node.foot = this.foot;
    this.head = '';
    this.line = '';
    this.foot = '';
    this.stem = '';
  }

  protected fail(reason: string, { start, end, row }: Token, limit?: ExceededLimit): never {
    const column = start - this.scanner.text.lastIndexOf('\n', start - 1);
    throw new YamlProblem(reason, row + 1, { column, range: [start, end], opened: this.opened, limit });
  }
}

function join(before: string, text: string): string {
  return before === '' ? text : `${before}\n${text}`;
}
