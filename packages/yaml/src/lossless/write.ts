import { isCertainlyText, type YamlList, type YamlMap, type YamlNode, type YamlScalar } from './tree.js';

/** Writes a document in block style, with a line break at its end. */
export function writeYamlTree(root: YamlNode): string {
  const pieces: string[] = [];
  if (root.kind === 'map' && root.entries.length > 0 && root.tag === undefined)
    writeMap(root.entries, '', false, pieces);
  else if (root.kind === 'list' && root.items.length > 0 && root.tag === undefined)
    writeList(root.items, '', false, pieces);
  else writeValue(root, '', pieces, '');
  return pieces.join('');
}

/** `onLine`: the first key follows the dash of a list. */
function writeMap(entries: YamlMap['entries'], indent: string, onLine: boolean, pieces: string[]): void {
  entries.forEach(([key, value], index) => {
    if (index > 0 || !onLine) pieces.push(indent);
    pieces.push(scalarText(key), ':');
    if (value.kind === 'list' && value.items.length > 0) {
      pieces.push(tagText(value), '\n');
      writeList(value.items, indent, false, pieces);
    } else if (value.kind === 'map' && value.entries.length > 0) {
      pieces.push(tagText(value), '\n');
      writeMap(value.entries, `${indent}  `, false, pieces);
    } else writeValue(value, ' ', pieces, `${indent}  `);
  });
}

function writeList(items: readonly YamlNode[], indent: string, onLine: boolean, pieces: string[]): void {
  const inner = `${indent}  `;
  items.forEach((item, index) => {
    if (index > 0 || !onLine) pieces.push(indent);
    pieces.push('-');
    if (item.kind === 'scalar' || isEmptyCollection(item)) writeValue(item, ' ', pieces, inner);
    else {
      // A tag has its own line, because behind it a key would belong to it.
      const tagged = item.tag !== undefined;
      pieces.push(tagged ? `${tagText(item)}\n` : ' ');
      if (item.kind === 'map') writeMap(item.entries, inner, !tagged, pieces);
      else writeList(item.items, inner, !tagged, pieces);
    }
  });
}

/** Writes a scalar or an empty collection, and ends the line. */
function writeValue(node: YamlNode, before: string, pieces: string[], indent: string): void {
  if (node.kind === 'scalar' && node.literal === true && node.tag === undefined && canBeLiteral(node.value)) {
    const kept = node.value.endsWith('\n');
    const lines = (kept ? node.value.slice(0, -1) : node.value).split('\n');
    pieces.push(before, kept ? '|\n' : '|-\n');
    for (const line of lines) pieces.push(line === '' ? '\n' : `${indent === '' ? '  ' : indent}${line}\n`);
    return;
  }
  const text =
    node.kind === 'scalar'
      ? scalarText(node)
      : `${tagText(node).trim()} ${node.kind === 'map' ? '{}' : '[]'}`.trim();
  pieces.push(text === '' ? '' : before, text, '\n');
}

function isEmptyCollection(node: YamlMap | YamlList): boolean {
  return (node.kind === 'map' ? node.entries : node.items).length === 0;
}

function tagText({ tag }: YamlNode): string {
  return tag === undefined ? '' : ` ${tag}`;
}

function scalarText({ value, plain, tag }: YamlScalar): string {
  const text = plain ? value : quoted(value);
  return tag === undefined ? text : `${tag}${text === '' ? '' : ` ${text}`}`;
}

/** Characters that end a line, or are not allowed, for some readers of YAML. JSON leaves them as they are. */
const UNSAFE = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;

/** A double-quoted scalar, as JSON has them; without quotes where these never make a difference. */
function quoted(value: string): string {
  if (/^[\w./-]+$/.test(value) && isCertainlyText(value)) return value;
  return JSON.stringify(value).replace(
    UNSAFE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Reports whether a block scalar without an indentation indicator gives exactly this text. */
function canBeLiteral(value: string): boolean {
  return (
    /^[^\s]/.test(value) &&
    !value.endsWith('\n\n') &&
    !/^[ \t]+$/m.test(value) &&
    !/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]/.test(value)
  );
}
