import { ResourceNode, STYLE, TEXT_STYLES } from '../nodes/node.js';
import type { SequenceIndent } from '../write/document-writer.js';
import { writeDocument } from '../write/write-resources.js';
import { scalarTag } from './equal-value.js';

/** A value: what is on the line of its key or dash, and the lines below, each with its indentation. */
export interface Rendered {
  first: string;
  /** Lines with their line breaks, or empty. */
  below: string;
}

/** The lines of an entry of a block map. */
export function entryLines(
  key: ResourceNode,
  value: ResourceNode,
  column: number,
  seqIndent: SequenceIndent,
): string {
  const map = new ResourceNode('map', '', 0, '');
  map.content.push(key, value);
  return indentLines(writeDocument(map, { seqIndent }), column);
}

/** The lines of an item of a block list. */
export function itemLines(item: ResourceNode, column: number, seqIndent: SequenceIndent): string {
  const list = new ResourceNode('list', '', 0, '');
  list.content.push(item);
  return indentLines(writeDocument(list, { seqIndent }), column);
}

/** A value behind a key or a dash at a column. */
export function renderValue(
  node: ResourceNode,
  column: number,
  seqIndent: SequenceIndent,
  isItem: boolean,
): Rendered {
  const lines = isItem
    ? itemLines(node, column, seqIndent).slice(column + 1)
    : entryLines(new ResourceNode('scalar', '', 0, 'k'), node, column, seqIndent).slice(column + 2);
  const end = lines.indexOf('\n');
  return { first: lines.slice(0, end).trim(), below: lines.slice(end + 1) };
}

/** A value in a flow collection, in one line. */
export function renderFlow(node: ResourceNode): string {
  const list = new ResourceNode('list', '', STYLE.flow, '');
  list.content.push(flowCopy(node));
  return writeDocument(list).slice(1, -2);
}

export function renderFlowEntry(key: ResourceNode, value: ResourceNode): string {
  const map = new ResourceNode('map', '', STYLE.flow, '');
  map.content.push(flowCopy(key), flowCopy(value));
  return writeDocument(map).slice(1, -2);
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

function indentLines(text: string, column: number): string {
  return column === 0 ? text : text.replace(/^(?=[^\n])/gm, ' '.repeat(column));
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
      const key = JSON.stringify(content[i]!.value);
      items.push(`${key}${colon}${renderJson(content[i + 1]!, colon, step, inner)}`);
    }
  }
  if (items.length === 0 || inner === undefined) {
    return open + items.join(colon.endsWith(' ') ? ', ' : ',') + close;
  }
  return `${open}\n${items.map((item) => inner + item).join(',\n')}\n${indent}${close}`;
}

function jsonScalar(node: ResourceNode): string {
  const { value } = node;
  switch (scalarTag(node)) {
    case '!!null':
      return 'null';
    case '!!bool':
      return value.toLowerCase();
    case '!!int':
    case '!!float': {
      if (/^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$/.test(value)) return value;
      const plain = value.replaceAll('_', '').replace(/^\+/, '');
      const octal = plain.replace(/^(-?)0o?(?=[0-7]+$)/i, '$10o');
      if (/^0[xob]/i.test(octal)) return String(BigInt(octal));
      if (/^-0[xob]/i.test(octal)) return `-${BigInt(octal.slice(1))}`;
      return Number.isFinite(Number(plain)) ? String(Number(plain)) : JSON.stringify(value);
    }
    default:
      return JSON.stringify(value);
  }
}
