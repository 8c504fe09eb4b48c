import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createBrotliCompress, createGzip } from 'node:zlib';
import type { BlobStore } from '@krmhub/catalog';
import type { Digest } from '@krmhub/schema';
import type { Coding } from '../../http/content-coding.js';

/** Size up to which the best brotli quality is used: it takes a second per mebibyte, quality 5 takes 20 ms. */
const BEST_BROTLI_BYTES = 131_072;

/**
 * Stores a compressed copy of a blob as another blob, piece by piece and outside the main thread. Returns undefined
 * if the blob was deleted. Rejects with an AbortError after `signal`.
 */
export async function compressBlob(
  blobs: BlobStore,
  digest: Digest,
  coding: Exclude<Coding, 'identity'>,
  signal?: AbortSignal,
): Promise<Digest | undefined> {
  const blob = await blobs.read(digest);
  if (blob === undefined) return undefined;
  const writer = await blobs.write();
  try {
    await pipeline(
      Readable.from(blob.pieces, { objectMode: false }),
      coding === 'gzip' ? createGzip({ level: 6 }) : brotli(blob.size),
      async (compressed: AsyncIterable<Uint8Array>) => {
        for await (const piece of compressed) await writer.write(piece);
      },
      { signal },
    );
  } catch (error) {
    await writer.discard();
    throw error;
  }
  return writer.commit();
}

function brotli(size: number) {
  return createBrotliCompress({
    params: {
      [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
      [constants.BROTLI_PARAM_QUALITY]: size <= BEST_BROTLI_BYTES ? 11 : 5,
      [constants.BROTLI_PARAM_SIZE_HINT]: size,
    },
  });
}
