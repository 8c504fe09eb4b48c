import { type ResourceNode, STYLE, TEXT_STYLES } from '../nodes/node.js';
import { isBlank, isBreak } from '../parse/cursor.js';
import { parseDocument } from '../parse/parse.js';
import type { DocumentText } from './document-text.js';
import { scalarTag } from './equal-value.js';
import { applySplices, type Splice } from './splices.js';

/**
 * Changes only the words that differ in text that is wrapped over lines: folded, in quotes, or plain. `from`: behind the
 * colon or the dash. Returns undefined if the other lines cannot stay as they are.
 */
export function editWrappedText(
  source: DocumentText,
  before: ResourceNode,
  after: ResourceNode,
  from: number,
): Splice | undefined {
  if (before.kind !== 'scalar' || after.kind !== 'scalar' || after.line !== '') return undefined;
  if ((before.style & STYLE.literal) !== 0 || source.nextLine(before.start) >= before.end) return undefined;
  if (scalarTag(before) !== '!!str' || scalarTag(after) !== '!!str') return undefined;
  const places = characterPlaces(source, before);
  if (places === undefined) return undefined;
  const [old, wanted] = [before.value, after.value];
  const most = Math.min(old.length, wanted.length);
  let start = 0;
  while (start < most && old[start] === wanted[start]) start++;
  let end = 0;
  while (end < most - start && old.at(-1 - end) === wanted.at(-1 - end)) end++;
  const text = wanted.slice(start, wanted.length - end);
  const splice = { start: places[start]!, end: places[old.length - end]!, text };
  const isLine = source.lineStart(before.end) === before.end;
  const below = source.passEmptyLines(isLine ? before.end : source.nextLine(before.end));
  const lines = applySplices(source.text, [splice], from, below);
  return isText(lines, wanted, before.style) ? splice : undefined;
}

/** Where each character of a wrapped text is, and its end; undefined if some are not written as they are. */
function characterPlaces(source: DocumentText, node: ResourceNode): number[] | undefined {
  const { text } = source;
  const { value, style } = node;
  const quote = (style & STYLE.singleQuoted) !== 0 ? "'" : (style & STYLE.doubleQuoted) !== 0 ? '"' : '';
  let at = source.contentStart(node);
  if (quote !== '') at++;
  else if ((style & STYLE.folded) !== 0) at = source.passBlanks(source.nextLine(at));
  const end = quote === '' ? value.trimEnd().length : value.length;
  const places: number[] = [];
  while (places.length < end) {
    const wrap = wrapEnd(source, at, node.end);
    if (wrap === undefined) {
      const char = value.charAt(places.length);
      if (text[at] !== char || (quote === '"' && char === '\\')) return undefined;
      places.push(at);
      at += char === quote ? 2 : 1;
      continue;
    }
    // One line break is a space, and each further one a line break.
    const folded = wrap.breaks === 1 ? ' ' : '\n'.repeat(wrap.breaks - 1);
    if (!value.startsWith(folded, places.length)) return undefined;
    for (const _ of folded) places.push(at);
    at = wrap.end;
  }
  // The line breaks at the end are those behind the last line.
  while (places.length <= value.length) places.push(at);
  return places;
}

/** The blanks at an offset, if they have line breaks. */
function wrapEnd(
  { text }: DocumentText,
  at: number,
  limit: number,
): { end: number; breaks: number } | undefined {
  let end = at;
  let breaks = 0;
  for (; end < limit; end++) {
    const code = text.charCodeAt(end);
    if (isBreak(code)) breaks++;
    else if (!isBlank(code)) break;
  }
  return breaks === 0 ? undefined : { end, breaks };
}

/** Whether lines behind a colon or dash are a text of a style. */
function isText(lines: string, value: string, style: number): boolean {
  try {
    const node = parseDocument(`-${lines}`)?.content[0]?.content[0];
    return node?.value === value && scalarTag(node) === '!!str' && ((node.style ^ style) & TEXT_STYLES) === 0;
  } catch {
    return false;
  }
}
