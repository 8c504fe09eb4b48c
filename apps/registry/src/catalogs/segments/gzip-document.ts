import type {
  CatalogFrame,
  CatalogSyntax,
  DocumentFacts,
  EntryReader,
  SegmentReader,
  SnapshotRecord,
  SnapshotStore,
} from '@krmhub/catalog';
import { compareFunctionNames } from '@krmhub/catalog';
import type { FunctionName } from '@krmhub/schema';
import { deflateSegment, GZIP_HEADER, gzipTrailer, joinTexts, storedBlocks } from './gzip.js';

/** Segments that are read and sent in one step, which is one statement: mostly about 300 KB. */
const SEGMENTS_AT_ONCE = 16;
/** Bytes of such a step, of more than one segment: a client that reads slowly holds them in memory. */
const BYTES_AT_ONCE = 524_288;

export type StoredSegments = NonNullable<Awaited<ReturnType<SnapshotStore['segments']>>>;

interface GzipDocument {
  frame: CatalogFrame;
  segments: StoredSegments;
  syntax: CatalogSyntax;
  facts: DocumentFacts;
}

/** Returns the size of a document in gzip. */
export function gzipSize(frame: CatalogFrame, segments: StoredSegments, syntax: CatalogSyntax): number {
  const { head, between, end } = blocksAround(frame, segments.length === 0);
  return (
    GZIP_HEADER.byteLength +
    head.byteLength +
    segments.reduce((sum, { compressed }) => sum + compressed[syntax], 0) +
    Math.max(segments.length - 1, 0) * between.byteLength +
    end.byteLength +
    gzipTrailer({ bytes: 0, crc32: 0 }).byteLength
  );
}

/** Yields a document in gzip from its segments. */
export async function* gzipPieces(
  from: { store: EntryReader & SegmentReader; snapshot: SnapshotRecord },
  { frame, segments, syntax, facts }: GzipDocument,
): AsyncIterable<Uint8Array> {
  const { head, between, end } = blocksAround(frame, segments.length === 0);
  let lead: readonly Uint8Array[] = [GZIP_HEADER, head];
  for (let start = 0, until: number; start < segments.length; start = until) {
    until = batchEnd(segments, start, syntax);
    const batch = segments.slice(start, until);
    const digests = batch.map(({ digest }) => digest);
    const stored = await from.store.segmentBytes(digests, syntax);
    const pieces: Uint8Array[] = [];
    for (const [index, bytes] of stored.entries()) {
      const next = segments[start + index + 1];
      pieces.push(...lead, bytes ?? (await remade(from, batch[index]!, next, { frame, syntax })));
      lead = [between];
    }
    yield Buffer.concat(pieces);
  }
  yield Buffer.concat([...(segments.length === 0 ? lead : []), end, gzipTrailer(facts)]);
}

function batchEnd(segments: StoredSegments, start: number, syntax: CatalogSyntax): number {
  let end = start + 1;
  let bytes = segments[start]!.compressed[syntax];
  while (end < segments.length && end - start < SEGMENTS_AT_ONCE) {
    bytes += segments[end]!.compressed[syntax];
    if (bytes > BYTES_AT_ONCE) break;
    end += 1;
  }
  return end;
}

function blocksAround(
  { head, between, end, empty }: CatalogFrame,
  isEmpty: boolean,
): Record<'head' | 'between' | 'end', Uint8Array> {
  const stored = (text: string, final = false) => storedBlocks(Buffer.from(text), { final });
  return {
    head: stored(isEmpty ? '' : head),
    between: stored(between),
    end: stored(isEmpty ? empty : end, true),
  };
}

/**
 * Compresses a segment again: a build replaced it since the response began. The same version of zlib gives the same
 * bytes.
 */
async function remade(
  { store, snapshot }: { store: EntryReader; snapshot: SnapshotRecord },
  first: FunctionName,
  next: FunctionName | undefined,
  { frame, syntax }: Pick<GzipDocument, 'frame' | 'syntax'>,
): Promise<Uint8Array> {
  const texts: Uint8Array[] = [];
  for await (const entry of store.entryTexts(snapshot.catalog, snapshot.serial, first)) {
    if (next !== undefined && compareFunctionNames(entry, next) >= 0) break;
    texts.push(entry[syntax]);
  }
  return deflateSegment(joinTexts(texts, Buffer.from(frame.between)));
}
