import { Cursor, END, isFlowIndicator, isGap, isWord } from './cursor.js';
import { TOKEN, Token } from './tokens.js';

/** Scans anchors, aliases, and tags. */
export abstract class PropertyScanner extends Cursor {
  protected flowLevel = 0;

  protected scanAnchor(type: number): Token {
    const start = this.pos;
    let length = 1;
    while (isWord(this.at(length)) || (this.strict !== undefined && isPath(this.at(length)))) length++;
    const name = this.text.slice(start + 1, start + length);
    const next = this.at(length);
    if (
      this.strict !== undefined &&
      name !== '' &&
      !isGap(next) &&
      !(this.flowLevel > 0 && isFlowIndicator(next))
    ) {
      this.fail('a tag or anchor needs a space after it', this.row, start + length);
    }
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
    if (this.strict !== undefined && handle !== '' && /[,[\]]/.test(suffix)) {
      this.fail(
        'a tag or anchor needs a space after it',
        this.row,
        pos + handle.length + suffix.search(/[,[\]]/),
      );
    }
    if (!isGap(end < text.length ? text.charCodeAt(end) : END)) {
      this.fail('did not find expected whitespace or line break');
    }
    this.skip(end - pos);
    return ending(end, new Token(TOKEN.tag, pos, this.row, handle, 0, suffix));
  }
}

export function ending(end: number, token: Token): Token {
  token.end = end;
  return token;
}

/** `.` or `/`, which names of anchors have in YAML 1.2. */
function isPath(code: number): boolean {
  return code === 0x2e || code === 0x2f;
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
