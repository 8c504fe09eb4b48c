import { Scanner } from '@krmhub/starlark/syntax/scanner';
import { Source } from '@krmhub/starlark/syntax/source';
import { StarlarkSyntaxError } from '@krmhub/starlark/syntax/syntax-error';
import { KEYWORDS, type Token } from '@krmhub/starlark/syntax/tokens';
import { visibleText } from '../visible-text.js';

/** Maximum number of highlighted words; the text after them is not highlighted. */
export const MAX_MARKS = 20_000;

type Mark = 'comment' | 'string' | 'keyword' | 'number';

const CONSTANTS: ReadonlySet<unknown> = new Set(['True', 'False', 'None']);
const KEYWORD_KINDS: ReadonlySet<string> = new Set(KEYWORDS);
const COMMENT = /#[^\n]*/g;
const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/**
 * Returns a script as safe HTML with its comments, strings, keywords, and numbers in `span` elements. What follows a
 * syntax error is not highlighted. Line ends are `\n`.
 */
export function highlightScript(text: string): string {
  const html: string[] = [];
  let written = 0;
  let marks = 0;
  const write = (end: number, mark?: Mark) => {
    if (end <= written) return;
    const piece = escapeHtml(text.slice(written, end));
    html.push(mark === undefined ? piece : `<span class="star-${mark}">${piece}</span>`);
    if (mark !== undefined) marks += 1;
    written = end;
  };
  /** Writes what is between two tokens: spaces and comments. */
  const writeGap = (end: number) => {
    if (end <= written) return;
    const from = written;
    for (const { 0: comment, index } of text.slice(from, end).matchAll(COMMENT)) {
      write(from + index);
      write(from + index + comment.length, 'comment');
      if (marks >= MAX_MARKS) return;
    }
    write(end);
  };
  try {
    const scanner = new Scanner(new Source('', text));
    while (marks < MAX_MARKS) {
      const token = scanner.next();
      writeGap(token.start);
      if (token.kind === 'end of file' || marks >= MAX_MARKS) break;
      write(token.end, tokenMark(token));
    }
  } catch (error) {
    if (!(error instanceof StarlarkSyntaxError)) throw error;
  }
  write(text.length);
  return html.join('');
}

/** Returns a text as HTML, with hidden characters made visible. */
export function escapeHtml(text: string): string {
  return visibleText(text).replace(/[&<>"]/g, (character) => ESCAPES[character]!);
}

function tokenMark({ kind, value }: Token): Mark | undefined {
  if (KEYWORD_KINDS.has(kind)) return 'keyword';
  if (kind === 'string' || kind === 'bytes') return 'string';
  if (kind === 'int' || kind === 'float') return 'number';
  return kind === 'identifier' && CONSTANTS.has(value) ? 'number' : undefined;
}
