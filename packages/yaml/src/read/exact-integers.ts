import type { Path } from '../diagnostic.js';
import type { YamlDocument } from './read-yaml.js';

/** Returns a function that reads integers as they are written: a number cannot have all of 64 bits. */
export function exactIntegers(
  bytes: Uint8Array,
  { locate }: YamlDocument,
): (path: Path) => bigint | undefined {
  return (path) => {
    const range = locate(path);
    if (range === undefined || range.start.line !== range.end.line) return undefined;
    const line = new TextDecoder().decode(bytes).split('\n')[range.start.line - 1] ?? '';
    const text = line.slice(range.start.column - 1, range.end.column - 1);
    return /^[-+]?\d+$/.test(text) ? BigInt(text.replace(/^\+/, '')) : undefined;
  };
}
