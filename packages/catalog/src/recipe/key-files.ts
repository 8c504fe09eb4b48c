import { formatPath, type JsonValue, type Path, type Range, readYaml } from '@krmhub/schema';
import { isObject } from '@krmhub/schema/json/access';
import { RECIPE_LIMITS } from './recipe.js';

/** A key file in a recipe. */
export interface KeyFile {
  /** The path as written in the recipe. */
  name: string;
  /** The path of the field in diagnostics. */
  path: string;
  range: Range;
}

/** A key that replaces the path of its file. */
export interface LoadedKey extends KeyFile {
  pem: string;
}

/**
 * Finds the key files in the policy of a recipe, in text order. It ignores paths with escapes, over several lines, or
 * in aliases, which cannot be replaced safely.
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

/** Replaces the paths of key files with the keys, each on one line, and changes nothing else. */
export function inlineKeys(bytes: Uint8Array, keys: readonly LoadedKey[]): string {
  const text = decode(bytes);
  const lines = text.split('\n');
  // From the end, so that earlier columns stay correct.
  for (const { range, pem } of [...keys].sort((a, b) => b.range.start.column - a.range.start.column)) {
    const { start, end } = range;
    const line = lines[start.line - 1]!;
    // JSON is valid YAML in every style and indentation.
    lines[start.line - 1] =
      line.slice(0, start.column - 1) + JSON.stringify(pem) + line.slice(end.column - 1);
  }
  const mark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? '\ufeff' : '';
  return mark + lines.join('\n');
}

/** Maps a position in the text with keys to the text with paths. */
export function originalRange(range: Range, keys: readonly LoadedKey[]): Range {
  const move = ({ line, column }: Range['start']) => {
    let moved = column;
    const inLine = keys.filter((key) => key.range.start.line === line);
    for (const { range: before, pem } of inLine.sort((a, b) => a.range.start.column - b.range.start.column)) {
      const { start, end } = before;
      if (moved <= start.column) break;
      const longer = JSON.stringify(pem).length - (end.column - start.column);
      // A position in a key maps to its path.
      moved = Math.max(moved - longer, Math.min(moved, end.column));
    }
    return { line, column: moved };
  };
  return { start: move(range.start), end: move(range.end) };
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder('utf-8').decode(bytes);
}

/** Matches a text that can be the path of a key file. */
function keyFields(value: JsonValue): { at: Path; name: string }[] {
  const spec = isObject(value) ? value.spec : undefined;
  const policy = isObject(spec) ? spec.policy : undefined;
  const items = isObject(policy) ? policy.requireSignature : undefined;
  if (!Array.isArray(items) || items.length > RECIPE_LIMITS.maxRules) return [];
  const at: Path = ['spec', 'policy', 'requireSignature'];
  return items.flatMap((item, index) => {
    if (!isObject(item)) return [];
    const signers = Array.isArray(item.signers) ? item.signers : [];
    return [
      ...keyFileField(item, [...at, index]),
      ...signers.flatMap((signer, number) => keyFileField(signer, [...at, index, 'signers', number])),
    ];
  });
}

function keyFileField(value: JsonValue, at: Path): { at: Path; name: string }[] {
  const name = isObject(value) ? value.key : undefined;
  const isName = typeof name === 'string' && name.trim() !== '' && !/\n|-----BEGIN/.test(name);
  return isName ? [{ at: [...at, 'key'], name }] : [];
}
