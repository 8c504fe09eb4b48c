/**
 * Small blobs that clients push to a folder are rows: one sync makes all pushes of a transaction durable. Larger ones,
 * and those of an S3-compatible store, are blobs.
 */

import type { ReadableBlobs } from '@krmhub/catalog';
import type { BlobRowReader } from '@krmhub/oci';
import { onePiece, openBytes } from './release-files.js';

/**
 * Returns the blobs with reads that find rows too. Who knows from a row of the repository where the bytes are reads
 * only there; others read mostly blobs.
 */
export function rowsLast<Blobs extends Partial<ReadableBlobs>>(
  { rowBytes }: BlobRowReader,
  blobs: Blobs,
): Blobs {
  const reads: ReadableBlobs = {
    get: async (digest) => (await blobs.get?.(digest)) ?? rowBytes(digest),
    async read(digest) {
      const found = await blobs.read?.(digest);
      const bytes = found === undefined ? await rowBytes(digest) : undefined;
      return bytes === undefined ? found : { size: bytes.byteLength, pieces: onePiece(bytes) };
    },
    async open(digest) {
      const found = await blobs.open?.(digest);
      const bytes = found === undefined ? await rowBytes(digest) : undefined;
      return bytes === undefined ? found : openBytes(bytes);
    },
  };
  return { ...blobs, ...reads };
}
