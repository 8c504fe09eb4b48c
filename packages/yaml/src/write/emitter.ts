import { isBreak } from '../parse/cursor.js';

/** The output of a writer, with the state that go-yaml 3 keeps to place comments and line breaks. */
export class Output {
  protected text = '';
  protected column = 0;
  /** Whether the last character was white space, or an indicator that needs none behind it. */
  protected whitespace = true;
  /** Whether the line has only indentation and dashes so far. */
  protected indention = true;
  protected indent = -1;
  /** How many columns a nested map is further right. */
  protected step = 2;
  /** The indentation of the comment below the preceding node: an empty line follows it. */
  private footIndent = -1;
  // Comments of the current node that have not been written.
  protected head = '';
  protected line = '';
  protected foot = '';
  protected tail = '';

  protected put(text: string): void {
    this.text += text;
    this.column += text.length;
  }

  protected putBreak(): void {
    this.text += '\n';
    this.column = 0;
    this.indention = true;
  }

  protected writeIndent(): void {
    const indent = Math.max(this.indent, 0);
    if (!this.indention || this.column > indent || (this.column === indent && !this.whitespace)) {
      this.putBreak();
    }
    if (this.footIndent === indent) this.putBreak();
    if (this.column < indent) this.put(' '.repeat(indent - this.column));
    this.whitespace = true;
    this.footIndent = -1;
  }

  protected writeIndicator(
    text: string,
    spaceBefore: boolean,
    isWhitespace: boolean,
    isIndention: boolean,
  ): void {
    if (spaceBefore && !this.whitespace) this.put(' ');
    this.put(text);
    this.whitespace = isWhitespace;
    this.indention &&= isIndention;
  }

  /** Writes text that has no line breaks. */
  protected writeText(text: string): void {
    this.put(text);
    this.whitespace = false;
    this.indention = false;
  }

  protected hasTrailingComments(): boolean {
    return this.line !== '' || this.foot !== '' || this.tail !== '';
  }

  protected processHead(): void {
    if (this.tail !== '') {
      this.writeIndent();
      this.writeComment(this.tail);
      this.tail = '';
      this.footIndent = Math.max(this.indent, 0);
    }
    if (this.head === '') return;
    this.writeIndent();
    this.writeComment(this.head);
    this.head = '';
  }

  protected processLine(): void {
    if (this.line === '') return;
    if (!this.whitespace) this.put(' ');
    this.writeComment(this.line);
    this.line = '';
  }

  protected processFoot(): void {
    if (this.foot === '') return;
    this.writeIndent();
    this.writeComment(this.foot);
    this.foot = '';
    this.footIndent = Math.max(this.indent, 0);
  }

  /** An empty line separates it from the content. */
  protected processDocumentFoot(): void {
    this.footIndent = 0;
    this.processFoot();
    this.footIndent = -1;
  }

  private writeComment(comment: string): void {
    const endsLine = this.writeLines(comment, (line, isFirst) => {
      if (!isFirst) this.writeIndent();
      this.put(line.startsWith('#') ? line : `# ${line}`);
    });
    if (!endsLine) this.putBreak();
    this.whitespace = true;
  }

  /**
   * Writes lines and the breaks between them, and returns whether the text ends with a break. `folds`: whether the
   * break behind the line that was written last counts as a space, and another one has to precede it.
   */
  protected writeLines(
    text: string,
    writeLine: (line: string, isFirst: boolean) => void,
    folds: () => boolean = () => false,
  ): boolean {
    let start = 0;
    let atBreak = false;
    while (start < text.length) {
      if (isBreak(text.charCodeAt(start))) {
        if (!atBreak && text[start] === '\n' && folds()) this.putBreak();
        this.putBreakOf(text.charAt(start));
        atBreak = true;
        start++;
        continue;
      }
      let end = start + 1;
      while (end < text.length && !isBreak(text.charCodeAt(end))) end++;
      writeLine(text.slice(start, end), start === 0);
      this.indention = false;
      atBreak = false;
      start = end;
    }
    return atBreak;
  }

  /** Writes a line break of a value, which can be a separator of Unicode. */
  private putBreakOf(char: string): void {
    this.text += char;
    this.column = 0;
    this.indention = true;
  }
}
