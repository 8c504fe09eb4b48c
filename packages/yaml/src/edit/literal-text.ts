import { type ResourceNode, STYLE } from '../nodes/node.js';
import { blockHints } from '../write/write-scalars.js';
import type { DocumentText } from './document-text.js';
import type { Rendered } from './render.js';

/** What a literal block cannot hold, or what readers change in it. */
const NOT_LITERAL =
  /[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\u{10000}-\u{10ffff}]|^[\n \t]/u;

/** A value as a literal block, with the indentation of the one that it replaces, or with `indent`; undefined if it cannot be one. */
export function literalText(
  source: DocumentText,
  before: ResourceNode,
  value: ResourceNode,
  indent: number,
): Rendered | undefined {
  if (value.kind !== 'scalar' || (value.style & STYLE.literal) === 0) return undefined;
  if (value.value === '' || NOT_LITERAL.test(value.value)) return undefined;
  if ((value.style & STYLE.tagged) !== 0) return undefined;
  const blanks = ' '.repeat(contentColumn(source, before) ?? indent);
  const lines = value.value.replace(/\n$/, '').split('\n');
  const anchor = value.anchor === '' ? '' : `&${value.anchor} `;
  return {
    first: `${anchor}|${blockHints(value.value, blanks.length)}`,
    below: withOldLines(source, before, lines)
      .map((line, i) => line ?? (lines[i] === '' ? '' : blanks + lines[i]))
      .map((line) => `${line}\n`)
      .join(''),
  };
}

/** The lines of the text for those at the start and the end that a literal block has already: blank ones can have spaces. */
function withOldLines(
  source: DocumentText,
  before: ResourceNode,
  lines: readonly string[],
): (string | undefined)[] {
  const found = new Array<string | undefined>(lines.length).fill(undefined);
  if ((before.style & STYLE.literal) === 0) return found;
  const olds = before.value.replace(/\n$/, '').split('\n');
  const start = source.nextLine(source.contentStart(before));
  const texts = source.text.slice(start, source.lineEnd(before.end)).split('\n');
  const most = Math.min(olds.length, lines.length);
  let same = 0;
  for (; same < most && olds[same] === lines[same]; same++) found[same] = texts[same];
  for (let i = 1; i <= most - same && olds.at(-i) === lines.at(-i); i++) {
    found[lines.length - i] = texts[olds.length - i];
  }
  return found;
}

/** The indentation of a block scalar, unless an indicator says it. */
function contentColumn(source: DocumentText, before: ResourceNode): number | undefined {
  if ((before.style & (STYLE.literal | STYLE.folded)) === 0) return undefined;
  const header = source.contentStart(before);
  if (/^.[-+]?[0-9]/.test(source.text.slice(header, header + 3))) return undefined;
  for (let line = source.nextLine(header); line < before.end; line = source.nextLine(line)) {
    const content = source.passBlanks(line);
    if (content < source.lineEnd(line)) return content - line;
  }
  return undefined;
}
