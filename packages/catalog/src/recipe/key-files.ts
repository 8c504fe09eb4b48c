import { formatPath, type JsonValue, type Path, type Range, readYaml } from '@krmhub/schema';
import { isMapping } from '../policy/document-fields.js';
import { RECIPE_LIMITS } from './recipe.js';

/** A file that a recipe names in place of a key. */
export interface KeyFile {
  /** As it is written. */
  name: string;
  /** Of the field, as diagnostics have it. */
  path: string;
  range: Range;
}

/** A key in place of the file that named it. */
export interface LoadedKey extends KeyFile {
  pem: string;
}

/**
 * Files that the policy of a recipe names as keys, in the order of the text. A name that is written with escapes, over
 * several lines or by an alias is none: its place in the text could not be filled safely.
 */
export function findKeyFiles(bytes: Uint8Array): KeyFile[] {
  if (bytes.byteLength > RECIPE_LIMITS.maxBytes) return [];
  const { documents } = readYaml(bytes, { file: '' });
  const [document] = documents;
  if (document === undefined || documents.length > 1) return [];
  const lines = decode(bytes).split('\n');
  const found = new Map<string, KeyFile>();
  for (const { at, name } of keyFields(document.value)) {
    const range = document.locate(at);
    if (range === undefined || range.start.line !== range.end.line) continue;
    const { line, column } = range.start;
    const written = lines[line - 1]!.slice(column - 1, range.end.column - 1);
    if (![name, `"${name}"`, `'${name}'`].includes(written)) continue;
    found.set(`${line}:${column}`, { name, path: formatPath(at), range });
  }
  return [...found.values()];
}

/** The text with keys in place of the files that named them, each in one line, and everything else as it was. */
export function inlineKeys(bytes: Uint8Array, keys: readonly LoadedKey[]): string {
  const text = decode(bytes);
  const lines = text.split('\n');
  // From the end, so that the columns before stay right.
  for (const { range, pem } of [...keys].sort((a, b) => b.range.start.column - a.range.start.column)) {
    const { start, end } = range;
    const line = lines[start.line - 1]!;
    // JSON is YAML in every style, at every indentation.
    lines[start.line - 1] =
      line.slice(0, start.column - 1) + JSON.stringify(pem) + line.slice(end.column - 1);
  }
  const mark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? '\ufeff' : '';
  return mark + lines.join('\n');
}

/** Where something of the text with keys stands in the text with the files. */
export function originalRange(range: Range, keys: readonly LoadedKey[]): Range {
  const move = ({ line, column }: Range['start']) => {
    let moved = column;
    const inLine = keys.filter((key) => key.range.start.line === line);
    for (const { range: before, pem } of inLine.sort((a, b) => a.range.start.column - b.range.start.column)) {
      const { start, end } = before;
      if (moved <= start.column) break;
      const longer = JSON.stringify(pem).length - (end.column - start.column);
      // What stands within the key stands at the file.
      moved = Math.max(moved - longer, Math.min(moved, end.column));
    }
    return { line, column: moved };
  };
  return { start: move(range.start), end: move(range.end) };
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder('utf-8').decode(bytes);
}

/** What stands in the text in place of keys and could be the name of a file. */
function keyFields(value: JsonValue): { at: Path; name: string }[] {
  const spec = isMapping(value) ? value.spec : undefined;
  const policy = isMapping(spec) ? spec.policy : undefined;
  const items = isMapping(policy) ? policy.requireSignature : undefined;
  if (!Array.isArray(items) || items.length > RECIPE_LIMITS.maxRules) return [];
  const at: Path = ['spec', 'policy', 'requireSignature'];
  return items.flatMap((item, index) => {
    if (!isMapping(item)) return [];
    const signers = Array.isArray(item.signers) ? item.signers : [];
    return [
      ...keyFileField(item, [...at, index]),
      ...signers.flatMap((signer, number) => keyFileField(signer, [...at, index, 'signers', number])),
    ];
  });
}

function keyFileField(value: JsonValue, at: Path): { at: Path; name: string }[] {
  const name = isMapping(value) ? value.key : undefined;
  const isName = typeof name === 'string' && name.trim() !== '' && !/\n|-----BEGIN/.test(name);
  return isName ? [{ at: [...at, 'key'], name }] : [];
}
