import { type ResourceNode, STYLE } from '../nodes/node.js';
import { blockHints } from '../write/write-scalars.js';
import type { Rendered } from './render.js';
import type { SourceText } from './source-text.js';

/** What a literal block cannot hold, or what readers change in it. */
const NOT_LITERAL =
  /[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\u{10000}-\u{10ffff}]|^[\n \t]/u;

/** A value that was a literal block, as one with its indentation; undefined if it cannot be one. */
export function literalText(
  source: SourceText,
  before: ResourceNode,
  value: ResourceNode,
  column: number,
): Rendered | undefined {
  if (value.kind !== 'scalar' || (value.style & STYLE.literal) === 0) return undefined;
  if (value.value === '' || NOT_LITERAL.test(value.value)) return undefined;
  if ((value.style & STYLE.tagged) !== 0) return undefined;
  const indent = ' '.repeat(contentColumn(source, before) ?? column + 2);
  const lines = value.value.replace(/\n$/, '').split('\n');
  const anchor = value.anchor === '' ? '' : `&${value.anchor} `;
  return {
    first: `${anchor}|${blockHints(value.value)}`,
    below: lines.map((line) => (line === '' ? '\n' : `${indent}${line}\n`)).join(''),
  };
}

/** The indentation of a block scalar, unless an indicator says it. */
function contentColumn(source: SourceText, before: ResourceNode): number | undefined {
  if ((before.style & (STYLE.literal | STYLE.folded)) === 0) return undefined;
  const header = source.contentStart(before);
  if (/^.[-+]?[0-9]/.test(source.text.slice(header, header + 3))) return undefined;
  for (let line = source.nextLine(header); line < before.end; line = source.nextLine(line)) {
    const content = source.passBlanks(line);
    if (content < source.lineEnd(line)) return content - line;
  }
  return undefined;
}
