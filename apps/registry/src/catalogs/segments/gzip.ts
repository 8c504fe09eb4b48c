import { promisify } from 'node:util';
import { constants, deflateRaw, gunzip as gunzipWith, inflateRaw } from 'node:zlib';

/**
 * gzip from compressed segments (RFC 1951, RFC 1952). A segment is raw deflate that ends at a byte and without a final
 * block, so segments can follow each other in one stream. The text around them is in stored blocks, whose size does
 * not depend on the version of zlib. So there is one member, as browsers need it.
 */

const compress = promisify(deflateRaw);
const decompress = promisify(inflateRaw);
const decompressMember = promisify(gunzipWith);

/** No name, no time, unknown system: the same bytes on every machine. */
export const GZIP_HEADER = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff);
const TRAILER_BYTES = 8;
const STORED_HEADER_BYTES = 5;
const MAX_STORED_BYTES = 65_535;
/** About how many times smaller segments become: memory for more bytes is allocated in several steps. */
const USUAL_RATIO = 8;

/** Half the processor time, and bytes that are a thirteenth more. */
export const FAST = 3;
const USUAL = 6;

/** Compresses a segment, outside of the main thread. */
export async function deflateSegment(
  bytes: Uint8Array,
  level: typeof FAST | typeof USUAL = USUAL,
): Promise<Uint8Array> {
  return compress(bytes, { level, memLevel: 9, finishFlush: constants.Z_SYNC_FLUSH });
}

/** Returns the bytes of segments with the text between them. Rejects if they are damaged in a way that is visible. */
export async function inflateSegments(
  segments: readonly Uint8Array[],
  between: Uint8Array,
): Promise<Uint8Array> {
  // With the end of a stream, a segment that was cut off is an error.
  const stream = Buffer.concat([
    joinTexts(segments, storedBlocks(between, { final: false })),
    storedBlocks(new Uint8Array(), { final: true }),
  ]);
  return decompress(stream, { chunkSize: stream.byteLength * USUAL_RATIO });
}

/** Decompresses so many bytes, outside of the main thread. Rejects if there are more, or they have another checksum. */
export async function gunzip(member: Uint8Array, bytes: number): Promise<Uint8Array> {
  return decompressMember(member, {
    chunkSize: Math.max(bytes + 1, 64),
    maxOutputLength: Math.max(bytes, 1),
  });
}

/** Returns texts with the text between them. */
export function joinTexts(texts: readonly Uint8Array[], between: Uint8Array): Uint8Array {
  if (between.byteLength === 0) return Buffer.concat(texts);
  return Buffer.concat(texts.flatMap((text, index) => (index === 0 ? [text] : [between, text])));
}

/** Returns bytes as stored blocks. `final` ends the stream. */
export function storedBlocks(bytes: Uint8Array, { final }: { final: boolean }): Uint8Array {
  const blocks: Uint8Array[] = [];
  for (let start = 0; start < bytes.byteLength || (final && start === 0); start += MAX_STORED_BYTES) {
    const part = bytes.subarray(start, start + MAX_STORED_BYTES);
    const isLast = final && start + MAX_STORED_BYTES >= bytes.byteLength;
    const header = Buffer.alloc(STORED_HEADER_BYTES);
    header.writeUInt8(isLast ? 1 : 0);
    header.writeUInt16LE(part.byteLength, 1);
    header.writeUInt16LE(~part.byteLength & 0xffff, 3);
    blocks.push(header, part);
  }
  return Buffer.concat(blocks);
}

/** Returns the end of a member with this content. */
export function gzipTrailer({ bytes, crc32 }: { bytes: number; crc32: number }): Uint8Array {
  const trailer = Buffer.alloc(TRAILER_BYTES);
  trailer.writeUInt32LE(crc32 >>> 0);
  trailer.writeUInt32LE(bytes % 2 ** 32, 4);
  return trailer;
}
