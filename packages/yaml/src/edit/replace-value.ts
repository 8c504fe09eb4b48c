import { type ResourceNode, STYLE } from '../nodes/node.js';
import type { Layout } from '../write/document-writer.js';
import { writeDocument } from '../write/write-resources.js';
import type { BlockPart, Child } from './block-parts.js';
import type { DocumentText } from './document-text.js';
import { literalText } from './literal-text.js';
import { type Rendered, renderValue } from './render.js';
import type { Splice } from './splices.js';
import { editWrappedText } from './wrapped-text.js';

const ASTRAL = /[\u{10000}-\u{10ffff}]/u;
const ESCAPED_ASTRAL = /(?<!\\)((?:\\\\)*)\\U([0-9A-F]{8})/g;

/**
 * Replaces a value in a block collection, or the root, by one of any kind. The comment on the line of its key stays
 * there; comments inside the value go with it.
 */
export function replaceValue(
  source: DocumentText,
  { key, value: before, part }: Child & { part: BlockPart | undefined },
  value: ResourceNode,
  layout: Layout,
): Splice {
  const { start } = before;
  if (part === undefined) {
    // The comments of its last field or item go with that.
    const isBlock = before.content.length > 0 && (before.style & STYLE.flow) === 0;
    const end = isBlock ? tailEnd(source, before, source.column(start)) : before.end;
    return { start, end, text: writeDocument(value, layout).trimEnd() };
  }
  const isItem = key === undefined;
  const column = source.column(part.body);
  const from = isItem ? part.body + 1 : source.colonEnd(key);
  const wrapped = editWrappedText(source, before, value, from);
  if (wrapped !== undefined) return wrapped;
  const inner = column + (isItem ? 2 : (layout.step ?? 2));
  const rendered = literalText(source, before, value, inner) ?? renderValue(value, column, layout, isItem);
  // kyaml escapes such characters; a value that has them as they are goes on so.
  if (ASTRAL.test(source.text.slice(start, before.end))) {
    rendered.first = rendered.first.replace(ESCAPED_ASTRAL, (_, slashes: string, code: string) => {
      return slashes + String.fromCodePoint(Number.parseInt(code, 16));
    });
  }
  const isBlock = before.content.length > 0 && (before.style & STYLE.flow) === 0;
  const isLiteral = (before.style & (STYLE.literal | STYLE.folded)) !== 0;
  const isEmpty = start === before.end;
  const inline = rendered.below === '';

  if (inline && !isBlock && !isLiteral) {
    if (rendered.first === '') return { start: from, end: before.end, text: '' };
    return { start, end: before.end, text: isEmpty ? ` ${rendered.first}` : rendered.first };
  }
  const comment = keptComment(source, before, from, isBlock, isLiteral);
  let end = before.end;
  if (isBlock) end = tailEnd(source, before, column);
  else if (!isLiteral) end = source.lineEnd(before.end);
  return { start: from, end, text: joined(rendered, comment, isItem, value) };
}

/** The end of the last line of a block collection at a column, with its comments. */
function tailEnd(source: DocumentText, { end }: ResourceNode, column: number): number {
  const tail = source.tailEnd(end, column);
  return source.lineStart(tail) === tail ? tail - 1 : tail;
}

function joined({ first, below }: Rendered, comment: string, isItem: boolean, value: ResourceNode): string {
  const isBlock = value.content.length > 0 && (value.style & STYLE.flow) === 0;
  // Behind the first field of an item, it would be the comment of that field.
  const kept = isItem && isBlock ? '' : comment;
  const line = `${first === '' ? '' : ` ${first}`}${kept}`;
  return below === '' ? line : `${line}\n${below.replace(/\n$/, '')}`;
}

/** The comment on the line of the key or dash, with the blanks before it. */
function keptComment(
  source: DocumentText,
  before: ResourceNode,
  from: number,
  isBlock: boolean,
  isLiteral: boolean,
): string {
  const content = source.contentStart(before);
  if (isLiteral)
    return /^[|>][-+0-9]*([ \t]+#.*)?/.exec(source.text.slice(content, source.lineEnd(content)))![1] ?? '';
  const own = source.comment(from);
  if (own !== '' || !isBlock) return own === '' ? source.comment(before.end) : own;
  // Behind an anchor or a tag.
  const line = source.text.slice(before.start, source.lineEnd(before.start));
  return content > before.start ? (/^(?:[&!]\S*[ \t]*)+?([ \t]+#.*)$/.exec(line)?.[1] ?? '') : '';
}
