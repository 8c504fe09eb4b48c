import { isGroup, isKind } from '@krmhub/schema/gvk';
import { readCatalog } from '@krmhub/schema/read-catalog';
import { catalogPieces, orderDefinition } from '../../render/render.js';
import { unnamedEntry } from './unnamed-entry.js';

/** Replaces an entry that cannot be used, with the reason for the users who need it. */
export interface UnusableEntry {
  group: string;
  names: { kind: string };
  problem: string;
}

/**
 * Reads a catalog of any dialect and layout and returns it in the layout of `catalog.json`, with an entry in each line
 * (`splitEntries`). An entry that cannot be used becomes an UnusableEntry; without a name, its position names it.
 * `problem` says why there is no catalog. Never throws for what the bytes hold.
 */
export function normalizeCatalog(
  bytes: Uint8Array,
  file: string,
): { bytes: Uint8Array } | { problem: string } {
  const read = readCatalog(bytes, file, { defaults: {} });
  if ('problem' in read) return read;
  const pieces = catalogPieces('catalog.json', { name: 'normalized' });
  const text: string[] = [];
  for (const [index, entry] of read.entries.entries()) {
    const item = 'definition' in entry ? orderDefinition(entry.definition) : unusable(entry, index + 1);
    text.push(pieces.entry({ yaml: '', json: JSON.stringify(item) }));
  }
  text.push(pieces.end());
  return { bytes: Buffer.from(text.join('')) };
}

function unusable(
  { group, kind, problem }: { group?: string; kind?: string; problem: string },
  position: number,
): UnusableEntry {
  if (group !== undefined && kind !== undefined && isGroup(group) && isKind(kind)) {
    return { group, names: { kind }, problem };
  }
  return { ...unnamedEntry(position), problem };
}
