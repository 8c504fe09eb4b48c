import { suggest } from '../names/suggest.js';
import { OWN_KINDS } from './recognize.js';

/** What only definitions and catalogs have: kinds, their group, and a field of every version. */
const WORDS = /krmfunction|config\.kubernetes\.io\/v|idempotent/i;
/** The value of a field `kind` in block style, flow style, or JSON; empty for one that is not plain or quoted text. */
const KINDS = /\bkind["']?\s*:\s*["']?([\w.-]*)/g;
/** Maximum number of different kinds in a file that is not parsed. */
const MAX_KINDS = 100;

/**
 * Reports whether a text can contain a definition or catalog, also one with a misspelled kind or syntax errors. Files
 * of other tools are most of a repository, and parsing them takes a hundred times longer.
 */
export function mayBeOurs(input: Uint8Array): boolean {
  const text = Buffer.from(input.buffer, input.byteOffset, input.byteLength).toString('latin1');
  // Not UTF-8.
  if (text.includes('\0') || WORDS.test(text)) return true;
  const kinds = new Set<string>();
  for (const [, kind = ''] of text.matchAll(KINDS)) {
    if (kinds.has(kind)) continue;
    if (kind === '' || kinds.size >= MAX_KINDS || suggest(kind, OWN_KINDS) !== undefined) return true;
    kinds.add(kind);
  }
  return false;
}
