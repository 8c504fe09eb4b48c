import { STYLE } from '../nodes/node.js';
import { Cursor, END, isBlank, isBreak, isBreakOrEnd, isGap, isWord, LF, SPACE, TAB } from './cursor.js';
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
  "'": "'",
  '\\': '\\',
  N: '\x85',
  _: '\xa0',
  L: '\u2028',
  P: '\u2029',
};
const HEX_ESCAPES: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

/** Scans scalars, anchors and tags. */
export abstract class ScalarScanner extends Cursor {
  /** The column of the current block collection, or -1. */
  protected indent = -1;
  protected flowLevel = 0;
  protected simpleKeyAllowed = true;

  /** Reports a comment behind the indicator of a block scalar. */
  protected abstract scanLineComment(token: number): void;

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
    for (;;) {
      if (this.atDocumentMark() || this.at(0) === 0x23) break;
      const from = this.pos;
      let to = from;
      while (to < text.length && !this.endsPlain(text, to)) to++;
      if (to > from) {
        if (leadingBreak !== '') {
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
          if (leadingBreak === '') blanks += next === TAB ? '\t' : ' ';
          else if (next === TAB && this.column < indent) {
            this.fail('found a tab character that violates indentation', startRow);
          }
          this.skipBlank();
        } else if (leadingBreak === '') {
          blanks = '';
          leadingBreak = this.skipBreak();
        } else breaks += this.skipBreak();
      }
      if (this.flowLevel === 0 && this.column < indent) break;
    }
    if (leadingBreak !== '') this.simpleKeyAllowed = true;
    return ending(end, new Token(TOKEN.scalar, start, startRow, value));
  }

  private endsPlain(text: string, index: number): boolean {
    const code = text.charCodeAt(index);
    if (isGap(code)) return true;
    if (code === 0x3a) return index + 1 >= text.length || isGap(text.charCodeAt(index + 1));
    if (this.flowLevel === 0) return false;
    // , ? [ ] { }
    return code === 0x2c || code === 0x3f || code === 0x5b || code === 0x5d || code === 0x7b || code === 0x7d;
  }

  protected scanQuoted(quote: number): Token {
    const start = this.pos;
    const startRow = this.row;
    const single = quote === 0x27;
    this.skip(1);
    let value = '';
    for (;;) {
      if (this.atDocumentMark()) this.fail('found unexpected document indicator', startRow);
      if (this.at(0) === END) this.fail('found unexpected end of stream', startRow);
      let escapedBreak = false;
      for (let code = this.at(0); !isGap(code); code = this.at(0)) {
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
          let length = 1;
          for (let next = this.at(length); !isGap(next) && next !== quote && next !== 0x5c; ) {
            next = this.at(++length);
          }
          value += this.text.slice(this.pos, this.pos + length);
          this.skip(length);
        }
      }
      if (this.at(0) === quote) break;
      value += this.scanGap(escapedBreak);
    }
    this.skip(1);
    const style = single ? STYLE.singleQuoted : STYLE.doubleQuoted;
    return ending(this.pos, new Token(TOKEN.scalar, start, startRow, value, style));
  }

  /** Blanks and line breaks inside quotes, folded. */
  private scanGap(afterBreak: boolean): string {
    let blanks = '';
    let leadingBreak = '';
    let breaks = '';
    let broken = afterBreak;
    for (let code = this.at(0); isBlank(code) || isBreak(code); code = this.at(0)) {
      if (isBlank(code)) {
        if (!broken) blanks += code === TAB ? '\t' : ' ';
        this.skipBlank();
      } else if (broken) breaks += this.skipBreak();
      else {
        blanks = '';
        leadingBreak = this.skipBreak();
        broken = true;
      }
    }
    if (!broken) return blanks;
    return leadingBreak === '' ? breaks : folded(leadingBreak, breaks);
  }

  private scanEscape(startRow: number): string {
    const name = this.text.charAt(this.pos + 1);
    const simple = Object.hasOwn(ESCAPES, name) ? ESCAPES[name] : undefined;
    if (simple !== undefined) {
      this.skip(2);
      return simple;
    }
    const length = Object.hasOwn(HEX_ESCAPES, name) ? HEX_ESCAPES[name]! : 0;
    if (length === 0) this.fail('found unknown escape character', startRow);
    const digits = this.text.slice(this.pos + 2, this.pos + 2 + length);
    if (digits.length < length || !/^[0-9a-fA-F]+$/.test(digits)) {
      this.fail('did not find expected hexdecimal number', startRow);
    }
    const code = Number.parseInt(digits, 16);
    if ((code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff) {
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
        this.fail('found a tab character where an indentation space is expected', startRow);
      }
      if (!isBreak(this.at(0))) break;
      breaks += this.skipBreak();
    }
    return { breaks, indent: indent === 0 ? Math.max(widest, this.indent + 1, 1) : indent };
  }

  protected scanAnchor(type: number): Token {
    const start = this.pos;
    let length = 1;
    while (isWord(this.at(length))) length++;
    const name = this.text.slice(start + 1, start + length);
    const next = this.at(length);
    if (name === '' || !(isGap(next) || '?:,]}%@`'.includes(String.fromCharCode(next)))) {
      this.fail('did not find expected alphabetic or numeric character');
    }
    this.skip(length);
    return ending(this.pos, new Token(type, start, this.row, name));
  }

  protected scanTag(): Token {
    const { text, pos } = this;
    let handle = '';
    let suffix: string;
    let end: number;
    if (this.at(1) === 0x3c) {
      end = endOfUri(text, pos + 2);
      suffix = decodeUri(text.slice(pos + 2, end), () => this.fail('found an invalid escape in a tag'));
      if (suffix === '') this.fail('did not find expected tag URI');
      if (text.charCodeAt(end) !== 0x3e) this.fail("did not find the expected '>'");
      end++;
    } else {
      handle = /^!(?:[0-9A-Za-z_-]*!)?/.exec(text.slice(pos, pos + 256))![0];
      end = endOfUri(text, pos + handle.length);
      suffix = decodeUri(text.slice(pos + handle.length, end), () =>
        this.fail('found an invalid escape in a tag'),
      );
      if (suffix === '') {
        if (handle !== '!') this.fail('did not find expected tag URI');
        suffix = handle;
        handle = '';
      }
    }
    if (!isGap(end < text.length ? text.charCodeAt(end) : END)) {
      this.fail('did not find expected whitespace or line break');
    }
    this.skip(end - pos);
    return ending(end, new Token(TOKEN.tag, pos, this.row, handle, 0, suffix));
  }
}

function ending(end: number, token: Token): Token {
  token.end = end;
  return token;
}

function folded(leadingBreak: string, breaks: string): string {
  if (leadingBreak.charCodeAt(0) !== LF) return leadingBreak + breaks;
  return breaks === '' ? ' ' : breaks;
}

function endOfUri(text: string, start: number): number {
  const uri = /[-0-9A-Za-z_;/?:@&=+$,.!~*'()[\]%]*/y;
  uri.lastIndex = start;
  uri.test(text);
  return uri.lastIndex;
}

function decodeUri(uri: string, fail: () => never): string {
  try {
    return uri.includes('%') ? decodeURIComponent(uri) : uri;
  } catch {
    return fail();
  }
}
