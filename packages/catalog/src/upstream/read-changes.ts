import type { FunctionName } from '@krmhub/schema';
import { DOCUMENT_LIMITS } from '@krmhub/schema/limits';
import type { UpstreamEntryName } from '../ports/source-records.js';
import { type EntryRange, splitEntries } from '../resolve/entries/split-entries.js';
import {
  type CountedUpstream,
  type ReadTotals,
  readUpstreamWithTotals,
  UPSTREAM_LIMITS,
} from './read-upstream.js';

/** The last good copy of a plain catalog, all of whose entries are valid, complete, and stored. */
export interface FormerRead {
  bytes: Uint8Array;
  /** All its entries. */
  entries: readonly UpstreamEntryName[];
  totals: ReadTotals;
}

/** `entries` has only the entries that were parsed. */
export interface ReadChanges extends CountedUpstream {
  /** The other entries: their text is that of the former copy. */
  unchanged: UpstreamEntryName[];
}

/**
 * Reads a plain catalog in the YAML layout of krmhub, and parses only the entries whose text changed. The result is
 * that of `readUpstreamWithTotals`; its `totals` can be higher. Undefined if only a complete read can tell: the catalog
 * has another layout, an invalid entry, two entries of a function, an alias, or sizes near the limits.
 *
 * An entry means the same in both copies, because its text is a whole item of the list in both: in the former copy,
 * each line where an item can begin began one, or it would have fewer entries than such lines. The same is checked for
 * the parsed entries. The last entry is always parsed, because what follows the others is another item.
 */
export function readChangedEntries(
  bytes: Uint8Array,
  file: string,
  former: FormerRead,
): ReadChanges | undefined {
  const before = uniqueEntries(former.bytes);
  const after = uniqueEntries(bytes);
  if (before === undefined || after === undefined) return undefined;
  if (before.size !== former.entries.length || ALIAS.test(Buffer.from(bytes).toString('latin1')))
    return undefined;
  const ranges = [...after.values()];
  const known = new Map(former.entries.map((entry) => [functionKey(entry), entry]));
  const formerLast = [...before.keys()].at(-1);
  const unchanged: UpstreamEntryName[] = [];
  const changed: EntryRange[] = [];
  for (const [key, range] of after) {
    const same = before.get(key);
    const entry = known.get(key);
    const isLast = range === ranges.at(-1) || key === formerLast;
    if (!isLast && same !== undefined && entry !== undefined && isSameText(former.bytes, same, bytes, range))
      unchanged.push(entry);
    else changed.push(range);
  }
  if (unchanged.length === 0) return undefined;
  // In JSON, the head and some entries are not a document.
  const head = bytes.subarray(0, ranges[0]!.offset);
  const texts = changed.map(({ offset, length }) => bytes.subarray(offset, offset + length));
  const read = readUpstreamWithTotals(Buffer.concat([head, ...texts]), file);
  if ('problem' in read || read.entries.length !== changed.length) return undefined;
  const totals = {
    versions: former.totals.versions + read.totals.versions,
    storedBytes: former.totals.storedBytes + read.totals.storedBytes,
  };
  const { maxAllVersions, maxStoredBytes } = UPSTREAM_LIMITS;
  if (totals.versions > maxAllVersions || totals.storedBytes > maxStoredBytes) return undefined;
  return { ...read, totals, unchanged };
}

/** An anchor or an alias, or text that looks like one: an entry with an alias depends on others. */
const ALIAS = /[\s,:[{][&*][^\s]/;

/** Returns the entries by function, in the order of the document. Undefined if a function has several. */
function uniqueEntries(bytes: Uint8Array): Map<string, EntryRange> | undefined {
  const { maxEntries } = UPSTREAM_LIMITS;
  if (bytes.byteLength > DOCUMENT_LIMITS.maxCatalogBytes) return undefined;
  const split = splitEntries(bytes, { maxEntries });
  if (split === undefined || split.hasMore) return undefined;
  const byFunction = new Map(split.entries.map((range) => [functionKey(range), range]));
  return byFunction.size === split.entries.length ? byFunction : undefined;
}

function functionKey({ group, kind }: FunctionName): string {
  return `${group}/${kind.toLowerCase()}`;
}

function isSameText(before: Uint8Array, old: EntryRange, after: Uint8Array, range: EntryRange): boolean {
  return (
    Buffer.compare(
      before.subarray(old.offset, old.offset + old.length),
      after.subarray(range.offset, range.offset + range.length),
    ) === 0
  );
}
