import type { Path, Target } from '../diagnostic.js';
import { type ResourceNode, STYLE } from '../nodes/node.js';

/** Offsets in a text. */
export type Offsets = readonly [start: number, end: number];

/** The offsets of the node at `path`, or of the nearest enclosing node. */
export function locateNode(root: ResourceNode, text: string, path: Path, target: Target): Offsets {
  let node: ResourceNode | undefined = root;
  let key: ResourceNode | undefined;
  let last = root;
  let complete = true;
  for (const [at, segment] of path.entries()) {
    key = undefined;
    const { kind, content }: ResourceNode = node;
    node = undefined;
    if (typeof segment === 'number' && kind === 'list') node = content[segment];
    else if (typeof segment === 'string' && kind === 'map') {
      const index = content.findIndex((child, i) => i % 2 === 0 && isKey(child, segment));
      if (index !== -1) {
        key = content[index]!;
        const value = content[index + 1]!;
        if (!isEmpty(value) || value.start > key.end) node = value;
      }
    }
    last = node ?? key ?? last;
    if (node === undefined) {
      complete = key !== undefined && at === path.length - 1;
      break;
    }
  }
  return valueOffsets(complete && target === 'key' && key !== undefined ? key : last, text);
}

function isEmpty({ kind, start, end }: ResourceNode): boolean {
  return kind === 'scalar' && start === end;
}

function isKey({ kind, value }: ResourceNode, name: string): boolean {
  return kind === 'scalar' && value === name;
}

/**
 * The offsets of a value: without its anchor and tag; of a collection in block style and of a block scalar, to the start
 * of the next line.
 */
export function valueOffsets(node: ResourceNode, text: string): Offsets {
  const start = contentStart(node, text);
  if (node.kind === 'scalar') {
    if ((node.style & (STYLE.literal | STYLE.folded)) !== 0) return [start, nextLine(text, node.end)];
    return [start, Math.max(start, node.end)];
  }
  if (node.kind === 'alias' || (node.style & STYLE.flow) !== 0) return [start, node.end];
  const last = lastValue(node);
  return [start, endsWithText(last, text) ? nextLine(text, node.end) : contentStart(last, text)];
}

/** Whether there is text at the end of a value, and no empty value: that of a key without a colon has no place. */
function endsWithText(node: ResourceNode, text: string): boolean {
  return !isEmpty(node) || !/[:-]/.test(text.charAt(node.start - 1));
}

/** The last value below collections in block style. */
function lastValue(node: ResourceNode): ResourceNode {
  let last = node;
  while (last.content.length > 0 && (last.style & STYLE.flow) === 0) last = last.content.at(-1)!;
  return last;
}

/** Whether a scalar has the tag `!`, which nodes do not keep. */
export function hasBareTag(node: ResourceNode, text: string): boolean {
  const first = text[node.start];
  if (first !== '!' && first !== '&') return false;
  return /(?:^|\s)!(?:\s|$)/.test(text.slice(node.start, contentStart(node, text)));
}

const PROPERTIES = /(?:[&!][^\s]*(?:\s+(?:#[^\n]*\n\s*)*|$))*/y;

function contentStart(node: ResourceNode, text: string): number {
  const { start, end, kind, value, style } = node;
  let at = start;
  if (node.anchor !== '' || (style & STYLE.tagged) !== 0 || (kind === 'scalar' && text[start] === '!')) {
    PROPERTIES.lastIndex = start;
    PROPERTIES.test(text);
    at = PROPERTIES.lastIndex;
    if (kind === 'scalar' && value === '' && at > end) return end;
  }
  // A value that is not there is marked behind the spaces.
  if (isEmpty(node)) while (text[at] === ' ') at++;
  return at;
}

function nextLine(text: string, offset: number): number {
  const end = text.indexOf('\n', offset);
  return end === -1 ? text.length : end + 1;
}
