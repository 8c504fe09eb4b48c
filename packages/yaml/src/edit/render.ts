import { toJson } from '../nodes/json.js';
import { ResourceNode, STYLE, TEXT_STYLES } from '../nodes/node.js';
import type { Layout } from '../write/document-writer.js';
import { writeDocument } from '../write/write-resources.js';
import type { Child } from './block-parts.js';
import { scalarTag } from './equal-value.js';

/** A value: what is on the line of its key or dash, and the lines below, each with its indentation. */
export interface Rendered {
  first: string;
  /** Lines with their line breaks, or empty. */
  below: string;
}

/** The lines of an entry of a block map, or of an item of a block list. */
export function newLines({ key, value }: Child, column: number, layout: Layout): string {
  const node = new ResourceNode(key === undefined ? 'list' : 'map', '', 0, '');
  if (key !== undefined) node.content.push(key);
  node.content.push(value);
  return writeDocument(node, layout).replace(/^(?=[^\n])/gm, ' '.repeat(column));
}

/** A value behind a key or a dash at a column. */
export function renderValue(value: ResourceNode, column: number, layout: Layout, isItem: boolean): Rendered {
  const key = isItem ? undefined : new ResourceNode('scalar', '', 0, 'k');
  const lines = newLines({ key, value }, column, layout).slice(column + (isItem ? 1 : 2));
  const end = lines.indexOf('\n');
  return { first: lines.slice(0, end).trim(), below: lines.slice(end + 1) };
}

/** An entry or an item of a flow collection, in one line. */
export function renderFlow({ key, value }: Child): string {
  const node = new ResourceNode(key === undefined ? 'list' : 'map', '', STYLE.flow, '');
  if (key !== undefined) node.content.push(flowCopy(key));
  node.content.push(flowCopy(value));
  return writeDocument(node).slice(1, -2);
}

function flowCopy(node: ResourceNode): ResourceNode {
  const copy = node.clone();
  const visit = (one: ResourceNode): void => {
    one.head = '';
    one.line = '';
    one.foot = '';
    if (one.kind !== 'scalar') one.style |= STYLE.flow;
    else if (one.tag === '!!null' && one.value === '') one.value = 'null';
    else if (one.value.includes('\n')) one.style = (one.style & ~TEXT_STYLES) | STYLE.doubleQuoted;
    for (const child of one.content) visit(child);
  };
  visit(copy);
  return copy;
}

/** A value as JSON. `indent`: the indentation of its line, if each of its items gets a line. */
export function renderJson(node: ResourceNode, colon: string, step: string, indent?: string): string {
  if (node.kind === 'scalar') return jsonScalar(node);
  const [open, close] = node.kind === 'map' ? '{}' : '[]';
  const inner = indent === undefined ? undefined : indent + step;
  const items: string[] = [];
  const { content } = node;
  if (node.kind === 'list') for (const item of content) items.push(renderJson(item, colon, step, inner));
  else {
    for (let i = 0; i + 1 < content.length; i += 2) {
      const key = jsonText(content[i]!.value);
      items.push(`${key}${colon}${renderJson(content[i + 1]!, colon, step, inner)}`);
    }
  }
  if (items.length === 0 || inner === undefined) {
    return open + items.join(colon.endsWith(' ') ? ', ' : ',') + close;
  }
  return `${open}\n${items.map((item) => inner + item).join(',\n')}\n${indent}${close}`;
}

/** Text in quotes, without characters that JSON may have as they are, and YAML not. */
export function jsonText(value: string): string {
  return JSON.stringify(value).replace(
    /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

const JSON_NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$/;

/** Numbers that are JSON already keep their digits. */
function jsonScalar(node: ResourceNode): string {
  const tag = scalarTag(node);
  if ((tag === '!!int' || tag === '!!float') && JSON_NUMBER.test(node.value)) return node.value;
  const value = toJson(new ResourceNode('scalar', tag, 0, node.value));
  return typeof value === 'string' ? jsonText(value) : JSON.stringify(value);
}
