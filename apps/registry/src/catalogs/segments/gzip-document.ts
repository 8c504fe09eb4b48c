import type {
  CatalogFrame,
  CatalogSyntax,
  DocumentFacts,
  EntryReader,
  SegmentReader,
  SnapshotRecord,
  SnapshotStore,
} from '@krmhub/catalog';
import type { FunctionName } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { deflateSegment, FAST, GZIP_HEADER, gzipTrailer, joinTexts, storedBlocks } from './gzip.js';

/** Bytes of the segments that all responses read with one statement each: a client that reads slowly holds them. */
const READ_BYTES = 4_194_304;
/** Bytes that a response reads at once, of more than one segment, also beside many others. */
const MIN_READ_BYTES = 524_288;
/** Segments that are sent in one piece: mostly about 300 KB. */
const SEGMENTS_OF_PIECE = 16;

/** Responses that read segments now. */
let reading = 0;

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
  reading += 1;
  try {
    for (let start = 0, until: number; start < segments.length; start = until) {
      until = readEnd(segments, start, syntax);
      const digests = segments.slice(start, until).map(({ digest }) => digest);
      const stored = await from.store.segmentBytes(digests, syntax);
      for (let at = start; at < until; at += SEGMENTS_OF_PIECE) {
        const pieces: Uint8Array[] = [];
        for (let one = at; one < Math.min(at + SEGMENTS_OF_PIECE, until); one++) {
          const bytes = stored[one - start];
          const segment = segments[one]!;
          pieces.push(...lead, bytes ?? (await remade(from, segment, segments[one + 1], { frame, syntax })));
          lead = [between];
        }
        yield Buffer.concat(pieces);
      }
    }
  } finally {
    reading -= 1;
  }
  yield Buffer.concat([...(segments.length === 0 ? lead : []), end, gzipTrailer(facts)]);
}

/** Returns the end of the segments to read with one statement. */
function readEnd(segments: StoredSegments, start: number, syntax: CatalogSyntax): number {
  const limit = Math.max(READ_BYTES / reading, MIN_READ_BYTES);
  let bytes = segments[start]!.compressed[syntax];
  let end = start + 1;
  while (end < segments.length) {
    bytes += segments[end]!.compressed[syntax];
    if (bytes > limit) break;
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
 * Compresses a segment again: a build replaced it since the response began. The same version of zlib gives as many
 * bytes, which the response has announced.
 */
async function remade(
  { store, snapshot }: { store: EntryReader; snapshot: SnapshotRecord },
  segment: StoredSegments[number],
  next: FunctionName | undefined,
  { frame, syntax }: Pick<GzipDocument, 'frame' | 'syntax'>,
): Promise<Uint8Array> {
  const texts: Uint8Array[] = [];
  const range = { from: segment, ...defined({ to: next }) };
  for await (const entry of store.entryTexts(snapshot.catalog, snapshot.serial, range))
    texts.push(entry[syntax]);
  const text = joinTexts(texts, Buffer.from(frame.between));
  const usual = await deflateSegment(text);
  return usual.byteLength === segment.compressed[syntax] ? usual : deflateSegment(text, FAST);
}
