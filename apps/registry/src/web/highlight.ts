import { Scanner } from '@krmhub/starlark/syntax/scanner';
import { Source } from '@krmhub/starlark/syntax/source';
import { StarlarkSyntaxError } from '@krmhub/starlark/syntax/syntax-error';
import { KEYWORDS, type Token } from '@krmhub/starlark/syntax/tokens';
import { yamlMarks } from '@krmhub/yaml/marks';
import { visibleText } from './visible-text.js';

/** Maximum number of highlighted words; the text after them is not highlighted. */
export const MAX_MARKS = 20_000;

/** A word of a text, with the class of its color. Offsets are UTF-16 code units. */
interface Mark {
  color: 'comment' | 'string' | 'keyword' | 'number';
  start: number;
  end: number;
}

const CONSTANTS: ReadonlySet<unknown> = new Set(['True', 'False', 'None']);
const KEYWORD_KINDS: ReadonlySet<string> = new Set(KEYWORDS);
const COMMENT = /#[^\n]*/g;
/** Longer values are not numbers that a person reads. */
const MAX_CONSTANT_LENGTH = 40;
/** Numbers, booleans, and null, as Kubernetes reads them. */
const YAML_CONSTANT = /^(?:true|false|null|~|[-+]?(?:\d[\d_]*)?\.?\d+(?:e[-+]?\d+)?)$/i;
const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Returns code of a language of Markdown as safe HTML, with its words in `span` elements if the language is known. */
export function highlightCode(text: string, language: string): string {
  if (/^ya?ml$/i.test(language)) return markText(text, yamlWords(text));
  return /^(?:starlark|star|python|py)$/i.test(language) ? highlightScript(text) : escapeHtml(text);
}

/**
 * Returns a script as safe HTML with its comments, strings, keywords, and numbers in `span` elements. What follows a
 * syntax error is not highlighted. Line ends are `\n`.
 */
export function highlightScript(text: string): string {
  return markText(text, scriptWords(text));
}

/** Returns a text as HTML, with hidden characters made visible. */
export function escapeHtml(text: string): string {
  return visibleText(text).replace(/[&<>"]/g, (character) => ESCAPES[character]!);
}

function markText(text: string, words: Iterable<Mark>): string {
  const html: string[] = [];
  let written = 0;
  let marks = 0;
  for (const { color, start, end } of words) {
    html.push(escapeHtml(text.slice(written, start)));
    html.push(`<span class="code-${color}">${escapeHtml(text.slice(start, end))}</span>`);
    written = end;
    marks += 1;
    if (marks === MAX_MARKS) break;
  }
  return html.join('') + escapeHtml(text.slice(written));
}

function* scriptWords(text: string): Generator<Mark> {
  let seen = 0;
  try {
    const scanner = new Scanner(new Source('', text));
    for (;;) {
      const token = scanner.next();
      // Comments are between two tokens.
      for (const { 0: comment, index } of text.slice(seen, token.start).matchAll(COMMENT)) {
        yield { color: 'comment', start: seen + index, end: seen + index + comment.length };
      }
      if (token.kind === 'end of file') return;
      const color = tokenColor(token);
      if (color !== undefined) yield { color, start: token.start, end: token.end };
      seen = token.end;
    }
  } catch (error) {
    if (!(error instanceof StarlarkSyntaxError)) throw error;
  }
}

function tokenColor({ kind, value }: Token): Mark['color'] | undefined {
  if (KEYWORD_KINDS.has(kind)) return 'keyword';
  if (kind === 'string' || kind === 'bytes') return 'string';
  if (kind === 'int' || kind === 'float') return 'number';
  return kind === 'identifier' && CONSTANTS.has(value) ? 'number' : undefined;
}

const YAML_COLORS = { comment: 'comment', key: 'keyword', quoted: 'string', property: 'number' } as const;

function* yamlWords(text: string): Generator<Mark> {
  for (const { type, start, end } of yamlMarks(text)) {
    if (type !== 'plain') yield { color: YAML_COLORS[type], start, end };
    else if (end - start <= MAX_CONSTANT_LENGTH && YAML_CONSTANT.test(text.slice(start, end))) {
      yield { color: 'number', start, end };
    }
  }
}
