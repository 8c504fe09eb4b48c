import { STYLE } from '../nodes/node.js';
import {
  END,
  HASH,
  isBlank,
  isBreak,
  isBreakOrEnd,
  isFlowIndicator,
  isGap,
  isWord,
  LF,
  type Opened,
  SPACE,
  TAB,
} from './cursor.js';
import { OUTSIDE_QUOTES } from './outside.js';
import { ending, PropertyScanner } from './scan-properties.js';
import { TOKEN, Token } from './tokens.js';

const ESCAPES: Readonly<Record<string, string>> = {
  '0': '\0',
  a: '\x07',
  b: '\b',
  t: '\t',
  '\t': '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
  e: '\x1b',
  ' ': ' ',
  '"': '"',
  '\\': '\\',
  N: '\x85',
  _: '\xa0',
  L: '\u2028',
  P: '\u2029',
};
const GO_ESCAPES = byCode({ ...ESCAPES, "'": "'" });
/** Those of YAML 1.2, and so of JSON. */
const STRICT_ESCAPES = byCode({ ...ESCAPES, '/': '/' });
const HEX_ESCAPES: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };
/** One for characters that are part of a plain scalar wherever they are. */
const WORD = Uint8Array.from({ length: 128 }, (_, code) => (isWord(code) ? 1 : 0));

/** Scans scalars. */
export abstract class ScalarScanner extends PropertyScanner {
  /** The column of the current block collection, or -1. */
  protected indent = -1;
  protected simpleKeyAllowed = true;
  /** The start of the line after a plain scalar, if the scanner is already there. */
  protected lineAfterPlain = -1;

  /** Reports a comment behind the indicator of a block scalar. */
  protected abstract scanLineComment(token: number): void;

  /** What is said of brackets or braces that are not closed here. */
  protected abstract unclosed(): Opened;

  protected scanPlain(): Token {
    const { text } = this;
    const start = this.pos;
    const startRow = this.row;
    const indent = this.indent + 1;
    let value = '';
    /** Blanks and line breaks since the last character. */
    let blanks = '';
    let leadingBreak = '';
    let breaks = '';
    let end = start;
    let lineStart = start;
    for (;;) {
      if (this.atDocumentMark() || this.at(0) === 0x23) break;
      const from = this.pos;
      const to = this.endOfPlain(from);
      if (to > from) {
        if (leadingBreak !== '') {
          if (this.flowLevel > 0 && this.isOutside(lineStart)) this.failInside(this.unclosed(), lineStart);
          value += folded(leadingBreak, breaks);
          leadingBreak = '';
          breaks = '';
        } else value += blanks;
        blanks = '';
        value += text.slice(from, to);
        this.skip(to - from);
        end = to;
      }
      const code = this.at(0);
      if (!isBlank(code) && !isBreak(code)) break;
      for (let next = code; isBlank(next) || isBreak(next); next = this.at(0)) {
        if (isBlank(next)) {
          if (leadingBreak === '') {
            const blanksFrom = this.pos;
            this.skipBlanks();
            blanks = text.slice(blanksFrom, this.pos);
            continue;
          }
          if (next === TAB && this.column < indent && !this.skipEmptyLine()) {
            this.fail('found a tab character that violates indentation', startRow);
          }
          this.skipBlank();
        } else if (leadingBreak === '') {
          blanks = '';
          leadingBreak = this.skipBreak();
          lineStart = this.pos;
        } else {
          breaks += this.skipBreak();
          lineStart = this.pos;
        }
      }
      if (this.flowLevel === 0 && this.column < indent) break;
    }
    if (leadingBreak !== '') {
      this.simpleKeyAllowed = true;
      this.lineAfterPlain = lineStart;
    }
    return ending(end, new Token(TOKEN.scalar, start, startRow, value));
  }

  /** Where the text of this line ends that is part of the scalar. */
  private endOfPlain(from: number): number {
    const { text } = this;
    let end = from;
    for (let at = from; ; ) {
      for (;;) {
        if (WORD[text.charCodeAt(at)] === 1) at++;
        else if (text.charCodeAt(at) === SPACE && WORD[text.charCodeAt(at + 1)] === 1 && at > from) at += 2;
        else if (at < text.length && !this.endsPlain(text, at)) at++;
        else break;
      }
      if (at > end) end = at;
      const word = at;
      while (isBlank(text.charCodeAt(at))) at++;
      // A hash after blanks starts a comment.
      if (at === word || text.charCodeAt(at) === HASH || at >= text.length || this.endsPlain(text, at))
        return end;
    }
  }

  /** Skips blanks of a line without content, which YAML 1.2 allows to be tabs. */
  private skipEmptyLine(): boolean {
    if (this.strict === undefined || this.blanksToEnd() === 0) return false;
    // The caller passes the last one.
    for (let count = this.blanksToEnd(); count > 1; count--) this.skipBlank();
    return true;
  }

  /**
   * YAML 1.2: what continues in another line has more spaces before it than the block around it. Only the last bracket
   * may have as many: `least` is the number of spaces.
   */
  protected isOutside(lineStart: number, least = this.indent + 1): boolean {
    const { text } = this;
    if (this.strict === undefined || this.at(0) === END) return false;
    let spaces = 0;
    while (spaces < least && text.charCodeAt(lineStart + spaces) === SPACE) spaces++;
    if (spaces >= least) return false;
    if (text.charCodeAt(lineStart + spaces) === TAB)
      this.fail('found a tab character that violates indentation', this.row, lineStart);
    return true;
  }

  private endsPlain(text: string, index: number): boolean {
    const code = text.charCodeAt(index);
    if (isGap(code)) return true;
    if (code === 0x3a) {
      const next = index + 1 < text.length ? text.charCodeAt(index + 1) : END;
      if (isGap(next)) return true;
      if (this.flowLevel > 0 && this.strict !== undefined && isFlowIndicator(next)) {
        // The colon is part of the text for go-yaml, and ends it in YAML 1.2.
        this.fail('a space is missing after the colon', this.row, index);
      }
      return false;
    }
    return this.flowLevel > 0 && (isFlowIndicator(code) || (code === 0x3f && this.strict === undefined));
  }

  protected scanQuoted(quote: number): Token {
    const start = this.pos;
    const startRow = this.row;
    const single = quote === 0x27;
    this.skip(1);
    let value = '';
    for (;;) {
      if (this.atDocumentMark())
        this.failInside({ reason: 'found unexpected document indicator', opened: start }, this.pos, startRow);
      if (this.at(0) === END)
        this.failInside({ reason: 'found unexpected end of stream', opened: start }, this.pos, startRow);
      let escapedBreak = false;
      for (let code = this.at(0); !isBreakOrEnd(code); code = this.at(0)) {
        if (code === quote) {
          if (!single || this.at(1) !== quote) break;
          value += "'";
          this.skip(2);
        } else if (!single && code === 0x5c) {
          if (isBreak(this.at(1))) {
            this.skip(1);
            this.skipBreak();
            escapedBreak = true;
            break;
          }
          value += this.scanEscape(startRow);
        } else {
          const end = this.endOfQuoted(quote);
          value += this.textBefore(end);
          this.skip(end - this.pos);
        }
      }
      if (this.at(0) === quote) break;
      value += this.scanGap(start, escapedBreak);
    }
    this.skip(1);
    const style = single ? STYLE.singleQuoted : STYLE.doubleQuoted;
    return ending(this.pos, new Token(TOKEN.scalar, start, startRow, value, style));
  }

  /** The next quote, backslash, line break, or end. */
  private endOfQuoted(quote: number): number {
    const { text } = this;
    for (let end = this.pos + 1; end < text.length; end++) {
      const code = text.charCodeAt(end);
      if (code === quote || code === 0x5c || isBreak(code)) return end;
    }
    return text.length;
  }

  /** The text up to there, without the blanks before a line break. */
  private textBefore(end: number): string {
    let to = end;
    if (isBreak(this.text.charCodeAt(end)))
      while (to > this.pos && isBlank(this.text.charCodeAt(to - 1))) to--;
    return this.text.slice(this.pos, to);
  }

  /** Line breaks inside quotes and the blanks around them, folded. */
  private scanGap(opened: number, afterBreak: boolean): string {
    let leadingBreak = '';
    let breaks = '';
    let broken = afterBreak;
    let lineStart = this.pos;
    for (let code = this.at(0); isBlank(code) || isBreak(code); code = this.at(0)) {
      if (isBlank(code)) {
        this.skipBlanks();
        continue;
      }
      if (broken) breaks += this.skipBreak();
      else leadingBreak = this.skipBreak();
      lineStart = this.pos;
      broken = true;
    }
    if (this.isOutside(lineStart)) this.failInside({ reason: OUTSIDE_QUOTES, opened }, lineStart);
    return leadingBreak === '' ? breaks : folded(leadingBreak, breaks);
  }

  private scanEscape(startRow: number): string {
    const escapes = this.strict === undefined ? GO_ESCAPES : STRICT_ESCAPES;
    const simple = escapes[this.at(1)];
    if (simple !== undefined) {
      this.skip(2);
      return simple;
    }
    const name = this.text.charAt(this.pos + 1);
    const length = Object.hasOwn(HEX_ESCAPES, name) ? HEX_ESCAPES[name]! : 0;
    if (length === 0) this.fail('found unknown escape character', startRow);
    const digits = this.text.slice(this.pos + 2, this.pos + 2 + length);
    if (digits.length < length || !/^[0-9a-fA-F]+$/.test(digits)) {
      this.fail('did not find expected hexdecimal number', startRow);
    }
    const code = Number.parseInt(digits, 16);
    // JSON writes a character that UTF-16 has two units for as two escapes.
    const isUnit = code >= 0xd800 && code <= 0xdfff;
    if (code > 0x10ffff || (isUnit && (this.strict === undefined || length > 4))) {
      this.fail('found invalid Unicode character escape code', startRow);
    }
    this.skip(2 + length);
    return String.fromCodePoint(code);
  }

  protected scanBlock(literal: boolean): Token {
    const start = this.pos;
    const startRow = this.row;
    this.skip(1);
    let chomping = 0;
    let increment = 0;
    for (let parts = 0; parts < 2; parts++) {
      const code = this.at(0);
      if ((code === 0x2b || code === 0x2d) && chomping === 0) chomping = code === 0x2b ? 1 : -1;
      else if (code >= 0x30 && code <= 0x39 && increment === 0) {
        if (code === 0x30) this.fail('found an indentation indicator equal to 0', startRow);
        increment = code - 0x30;
      } else break;
      this.skip(1);
    }
    this.skipBlanks();
    if (this.at(0) === 0x23) this.scanLineComment(start);
    if (!isBreakOrEnd(this.at(0))) this.fail('did not find expected comment or line break', startRow);
    let end = this.pos;
    if (isBreak(this.at(0))) this.skipBreak();
    const given = increment === 0 ? 0 : Math.max(this.indent, 0) + increment;
    const first = this.scanBlockBreaks(given, startRow);
    const { indent } = first;
    let { breaks } = first;
    let value = '';
    let leadingBreak = '';
    let leadingBlank = false;
    while (this.column === indent && this.at(0) !== END) {
      const blank = isBlank(this.at(0));
      if (!literal && leadingBreak === '\n' && !leadingBlank && !blank) {
        if (breaks === '') value += ' ';
      } else value += leadingBreak;
      value += breaks;
      leadingBlank = blank;
      const line = this.restOfLine();
      if (/[^ \t]/.test(line)) this.newlines = 0;
      value += line;
      end = this.pos;
      leadingBreak = isBreak(this.at(0)) ? this.skipBreak() : '';
      breaks = this.scanBlockBreaks(indent, startRow).breaks;
    }
    if (chomping !== -1) value += leadingBreak;
    if (chomping === 1 && breaks !== '') {
      value += breaks;
      end = this.pos;
      while (!isBreak(this.text.charCodeAt(end - 1))) end--;
      end--;
    }
    const style = literal ? STYLE.literal : STYLE.folded;
    return ending(end, new Token(TOKEN.scalar, start, startRow, value, style));
  }

  /** Passes indentation and empty lines. `indent` is 0 if the first line decides it. */
  private scanBlockBreaks(indent: number, startRow: number): { breaks: string; indent: number } {
    let breaks = '';
    let widest = 0;
    for (;;) {
      while ((indent === 0 || this.column < indent) && this.at(0) === SPACE) this.skipBlank();
      widest = Math.max(widest, this.column);
      if ((indent === 0 || this.column < indent) && this.at(0) === TAB) {
        // The first tab behind the indentation is text in YAML 1.2.
        if (this.strict !== undefined && indent === 0 && this.column > this.indent) break;
        this.fail('found a tab character where an indentation space is expected', startRow);
      }
      if (!isBreak(this.at(0))) break;
      breaks += this.skipBreak();
    }
    const isContent = this.column > this.indent && this.at(0) !== END;
    if (this.strict !== undefined && indent === 0 && isContent && this.column < widest) {
      this.fail('the indentation does not match the surrounding lines');
    }
    return { breaks, indent: indent === 0 ? Math.max(widest, this.indent + 1, 1) : indent };
  }
}

function folded(leadingBreak: string, breaks: string): string {
  if (leadingBreak.charCodeAt(0) !== LF) return leadingBreak + breaks;
  return breaks === '' ? ' ' : breaks;
}

/** The texts by the codes of their escapes. */
function byCode(escapes: Readonly<Record<string, string>>): readonly (string | undefined)[] {
  const texts = new Array<string | undefined>(128).fill(undefined);
  for (const [name, text] of Object.entries(escapes)) texts[name.charCodeAt(0)] = text;
  return texts;
}
