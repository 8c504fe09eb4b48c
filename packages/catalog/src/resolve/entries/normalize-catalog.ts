import { isGroup, isKind } from '@krmhub/schema/gvk';
import { readCatalog } from '@krmhub/schema/read-catalog';
import { catalogPieces, orderDefinition } from '../../render/render.js';

/** Replaces an entry that cannot be used, with the reason for the users who need it. */
export interface UnusableEntry {
  group: string;
  names: { kind: string };
  problem: string;
}

/**
 * Reads a catalog of any dialect and layout and returns it in the layout of `catalog.json`, with an entry in each line
 * (`splitEntries`). An entry that cannot be used becomes an UnusableEntry, if its name can be read; otherwise it is
 * omitted. `problem` says why there is no catalog. Never throws for what the bytes hold.
 */
export function normalizeCatalog(
  bytes: Uint8Array,
  file: string,
): { bytes: Uint8Array } | { problem: string } {
  const read = readCatalog(bytes, file, { defaults: {} });
  if ('problem' in read) return read;
  const pieces = catalogPieces('catalog.json', { name: 'normalized' });
  const text: string[] = [];
  for (const entry of read.entries) {
    const item = 'definition' in entry ? orderDefinition(entry.definition) : unusable(entry);
    if (item !== undefined) text.push(pieces.entry({ yaml: '', json: JSON.stringify(item) }));
  }
  text.push(pieces.end());
  return { bytes: Buffer.from(text.join('')) };
}

function unusable({
  group,
  kind,
  problem,
}: {
  group?: string;
  kind?: string;
  problem: string;
}): UnusableEntry | undefined {
  if (group === undefined || kind === undefined || !isGroup(group) || !isKind(kind)) return undefined;
  return { group, names: { kind }, problem };
}
