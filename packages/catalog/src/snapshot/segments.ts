/**
 * Segments: the entries of a catalog in its order, cut into short runs. Each run is compressed once, and snapshots
 * share the runs that they have in common.
 *
 * The names of functions decide where a run begins, so an added or removed entry changes only the segments around it: a
 * function whose name has a certain hash always begins a segment. Between two such functions, a segment ends when it is
 * full. So it is enough to split again from one such function to the next, and the result is the same as that of a
 * catalog that is split as a whole.
 */

import type { Digest, FunctionName } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { sha256 } from '@krmhub/schema/digest';
import { compareFunctionNames } from '../ports/function-name.js';
import type { NameRange } from '../ports/segment-records.js';

/** Average number of entries, unless segments become full. */
const AVERAGE_ENTRIES = 32;
const MAX_ENTRIES = 128;
/** Bytes of the entries of a segment in both syntaxes. An entry above this size is a segment of its own. */
const MAX_BYTES = 524_288;

export interface SegmentEntry extends FunctionName {
  /** Digest of the rendered entry. */
  digest: Digest;
  /** Size in both syntaxes. */
  bytes: number;
}

/** Consecutive entries of a catalog. Its name is that of the first entry. */
export interface Segment<Entry extends SegmentEntry = SegmentEntry> extends FunctionName {
  /** Digest of the digests of its entries: the same entries have the same one in every catalog. */
  digest: Digest;
  entries: Entry[];
}

/** Reports whether a segment always begins at this function. */
export function beginsSegment({ group, kind }: FunctionName): boolean {
  return Number.parseInt(sha256(`${group}/${kind}`).slice(-8), 16) % AVERAGE_ENTRIES === 0;
}

/** Splits entries, which are added in the order of the catalog, into segments. */
export class SegmentSplitter<Entry extends SegmentEntry = SegmentEntry> {
  #entries: Entry[] = [];
  #bytes = 0;

  /** Returns the segment that ends before this entry. */
  add(entry: Entry): Segment<Entry> | undefined {
    const isFull = this.#entries.length >= MAX_ENTRIES || this.#bytes + entry.bytes > MAX_BYTES;
    const ended = isFull || beginsSegment(entry) ? this.end() : undefined;
    this.#entries.push(entry);
    this.#bytes += entry.bytes;
    return ended;
  }

  /** Returns the last segment. Afterwards, the next entry begins another part of the catalog. */
  end(): Segment<Entry> | undefined {
    const entries = this.#entries;
    const [first] = entries;
    if (first === undefined) return undefined;
    this.#entries = [];
    this.#bytes = 0;
    const digest = sha256(entries.map((entry) => `${entry.digest}\n`).join(''));
    return { group: first.group, kind: first.kind, digest, entries };
  }
}

/** Reports whether a name is in the range. */
export function isInRange(name: FunctionName, { from, to }: NameRange): boolean {
  return (
    (from === undefined || compareFunctionNames(name, from) >= 0) &&
    (to === undefined || compareFunctionNames(name, to) < 0)
  );
}

/**
 * Returns the parts of a catalog to split again after changes of these functions, in order and without overlaps.
 * `segments` are all segments of the catalog before, in order. Other parts keep their segments.
 */
export function rangesToSplit(
  segments: readonly FunctionName[],
  changed: readonly FunctionName[],
): NameRange[] {
  const ranges: { first: number; end: number }[] = [];
  for (const name of [...changed].sort(compareFunctionNames)) {
    const at = lastAtOrBefore(segments, name);
    // Without its first function, a part continues the one before.
    const isFirst = at >= 0 && compareFunctionNames(segments[at]!, name) === 0;
    let first = Math.max(isFirst ? at - 1 : at, 0);
    while (first > 0 && !beginsSegment(segments[first]!)) first -= 1;
    let end = Math.max(at + 1, first + 1);
    while (end < segments.length && !beginsSegment(segments[end]!)) end += 1;
    const last = ranges.at(-1);
    if (last !== undefined && first <= last.end) last.end = Math.max(last.end, end);
    else ranges.push({ first, end });
  }
  return ranges.map(({ first, end }) =>
    defined({
      from: first === 0 ? undefined : pickName(segments[first]!),
      to: end >= segments.length ? undefined : pickName(segments[end]!),
    }),
  );
}

/** Returns the index of the last segment that begins at or before the name; -1 if there is none. */
function lastAtOrBefore(segments: readonly FunctionName[], name: FunctionName): number {
  let low = 0;
  let high = segments.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareFunctionNames(segments[middle]!, name) <= 0) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function pickName({ group, kind }: FunctionName): FunctionName {
  return { group, kind };
}
