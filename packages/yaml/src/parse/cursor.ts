import { YamlProblem } from './invalid.js';
import type { ParseOptions, StrictReading } from './options.js';

export const TAB = 0x09;
export const LF = 0x0a;
export const CR = 0x0d;
export const SPACE = 0x20;
export const HASH = 0x23;
/** What `charCodeAt` is at the end of the text; the text itself has no such character. */
export const END = 0;

export function isBreak(code: number): boolean {
  return code === LF || code === CR || code === 0x85 || code === 0x2028 || code === 0x2029;
}

export function isBlank(code: number): boolean {
  return code === SPACE || code === TAB;
}

export function isBreakOrEnd(code: number): boolean {
  return code === END || isBreak(code);
}

/** Blank, line break or end. */
export function isGap(code: number): boolean {
  return code <= SPACE || code === 0x85 || code === 0x2028 || code === 0x2029;
}

/** `,`, `[`, `]`, `{`, or `}`. */
export function isFlowIndicator(code: number): boolean {
  return code === 0x2c || code === 0x5b || code === 0x5d || code === 0x7b || code === 0x7d;
}

/** Letters, digits, `_` and `-`. */
export function isWord(code: number): boolean {
  return (
    (code >= 0x61 && code <= 0x7a) ||
    (code >= 0x41 && code <= 0x5a) ||
    (code >= 0x30 && code <= 0x39) ||
    code === 0x5f ||
    code === 0x2d
  );
}

/** A bracket, brace, or quote that is open, and what is wrong if it is not closed. */
export interface Opened {
  reason: string;
  opened: number | undefined;
}

/** A position in the text that counts rows and columns. */
export class Cursor {
  readonly text: string;
  protected readonly strict: StrictReading | undefined;
  protected pos: number;
  /** From 0. */
  protected row = 0;
  protected column = 0;
  /** Line breaks since the last character that is not blank. */
  protected newlines = 0;

  constructor(text: string, { start, strict }: ParseOptions) {
    this.text = text;
    this.pos = start;
    this.strict = strict;
  }

  protected at(offset: number): number {
    const index = this.pos + offset;
    return index < this.text.length ? this.text.charCodeAt(index) : END;
  }

  /** Passes characters of one line that are not all blank. */
  protected skip(count: number): void {
    this.pos += count;
    this.column += count;
    this.newlines = 0;
  }

  protected skipBlank(): void {
    this.pos++;
    this.column++;
  }

  /** Passes blanks, and returns how many. */
  protected skipBlanks(): number {
    const start = this.pos;
    while (isBlank(this.text.charCodeAt(this.pos))) this.pos++;
    this.column += this.pos - start;
    return this.pos - start;
  }

  /** Passes a line break, and returns it: `\n`, but for the line and paragraph separators of Unicode. */
  protected skipBreak(): string {
    const code = this.at(0);
    this.pos += code === CR && this.at(1) === LF ? 2 : 1;
    this.column = 0;
    this.row++;
    this.newlines++;
    return code === 0x2028 ? '\u2028' : code === 0x2029 ? '\u2029' : '\n';
  }

  /** Passes the rest of the line, and returns it without the line break. */
  protected restOfLine(): string {
    const { text, pos } = this;
    let end = pos;
    while (end < text.length && !isBreak(text.charCodeAt(end))) end++;
    const rest = text.slice(pos, end);
    this.column += end - pos;
    this.pos = end;
    return rest;
  }

  /** Whether `---` or `...` starts here, at the start of a line. */
  protected atDocumentMark(): boolean {
    if (this.column !== 0) return false;
    const code = this.at(0);
    return (
      (code === 0x2d || code === 0x2e) && this.at(1) === code && this.at(2) === code && isGap(this.at(3))
    );
  }

  /** The number of blanks here if nothing but a comment follows them in the line. */
  protected blanksToEnd(): number {
    let count = 0;
    while (isBlank(this.at(count))) count++;
    const code = this.at(count);
    return code === HASH || isBreakOrEnd(code) ? count : 0;
  }

  protected fail(reason: string, row = this.row, start = this.pos, end = start + 1, opened?: number): never {
    const column = row === this.row ? { column: this.column + 1 } : {};
    throw new YamlProblem(reason, row + 1, { ...column, range: [start, end], opened });
  }

  /** Fails at a line inside of what was opened there. */
  protected failInside({ reason, opened }: Opened, start = this.pos, row = this.row): never {
    this.fail(reason, row, start, start + 1, opened);
  }
}
