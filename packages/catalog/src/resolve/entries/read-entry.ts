import { KRM_API_VERSION } from '@krmhub/schema/definition';
import { type CatalogEntry, readCatalog } from '@krmhub/schema/read-catalog';
import { MAX_ENTRY_BYTES, tooLarge } from './entry-limits.js';
import type { EntryForm } from './split-entries.js';

/**
 * Reads the bytes of one entry (`splitEntries`), and completes it as KEP-2906 allows. Never throws for what they hold.
 */
export function readEntryBytes(bytes: Uint8Array, form: EntryForm, file: string): CatalogEntry {
  if (bytes.byteLength > MAX_ENTRY_BYTES) return { problem: tooLarge(bytes.byteLength) };
  const known = form === 'json' ? knownProblem(bytes) : undefined;
  if (known !== undefined) return { problem: known };
  const read = readCatalog(wrap(bytes, form), file, { defaults: {} });
  if ('problem' in read) return { problem: read.problem };
  const [entry] = read.entries;
  if (entry !== undefined && read.entries.length === 1) return entry;
  return { problem: `it has ${read.entries.length} entries, expected one` };
}

/** Of an UnusableEntry. */
function knownProblem(bytes: Uint8Array): string | undefined {
  try {
    const { problem } = JSON.parse(new TextDecoder().decode(bytes)) as { problem?: unknown };
    return typeof problem === 'string' ? problem : undefined;
  } catch {
    return undefined;
  }
}

function wrap(bytes: Uint8Array, form: EntryForm): Uint8Array {
  const head = { apiVersion: KRM_API_VERSION, kind: 'Catalog', metadata: { name: 'entry' } };
  if (form === 'json') {
    const start = `${JSON.stringify(head).slice(0, -1)},"spec":{"krmFunctions":[`;
    return Buffer.concat([Buffer.from(start), bytes, Buffer.from(']}}')]);
  }
  const start = `apiVersion: ${head.apiVersion}\nkind: Catalog\nmetadata:\n  name: entry\nspec:\n  krmFunctions:\n`;
  return Buffer.concat([Buffer.from(start), bytes]);
}
