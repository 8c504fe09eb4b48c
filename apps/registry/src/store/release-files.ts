/**
 * Definitions and READMEs. A publish stores small ones as rows, in the transaction of the release: one sync makes the
 * releases of all publishes of a transaction durable, with their files. Large ones are blobs, and so are those of older
 * versions.
 */

import type { OpenBlob, ReadableBlobs } from '@krmhub/catalog';
import { type Digest, KrmhubError } from '@krmhub/schema';
import type { FileRowReader } from './registry-store.js';

/** Returns the blobs with reads that find rows first. Everything else is of the blobs only. */
export function rowsFirst<Blobs extends Partial<ReadableBlobs>>(
  { fileBytes }: FileRowReader,
  blobs: Blobs,
): Blobs {
  const reads: ReadableBlobs = {
    get: async (digest) => (await fileBytes(digest)) ?? blobs.get?.(digest),
    async read(digest) {
      const bytes = await fileBytes(digest);
      return bytes === undefined ? blobs.read?.(digest) : { size: bytes.byteLength, pieces: onePiece(bytes) };
    },
    async open(digest) {
      const bytes = await fileBytes(digest);
      return bytes === undefined ? blobs.open?.(digest) : openBytes(bytes);
    },
  };
  return { ...blobs, ...reads };
}

/**
 * As `rowsFirst`, and an intact blob of an older version is read in place of a damaged row. Only `rowsFirst` finds such
 * a row.
 */
export function intactFirst<Blobs extends Partial<ReadableBlobs>>(
  { fileBytes }: FileRowReader,
  blobs: Blobs,
): Blobs {
  const intactBlob = async (digest: Digest, damage: unknown) => {
    try {
      return await blobs.get?.(digest);
    } catch (error) {
      throw isDamage(error) ? damage : error;
    }
  };
  const intactBytes = async (digest: Digest) => {
    try {
      return await fileBytes(digest);
    } catch (error) {
      const bytes = isDamage(error) ? await intactBlob(digest, error) : undefined;
      if (bytes === undefined) throw error;
      return bytes;
    }
  };
  return rowsFirst({ fileBytes: intactBytes }, blobs);
}

function isDamage(error: unknown): boolean {
  return error instanceof KrmhubError && error.code === 'internal';
}

export function openBytes(bytes: Uint8Array): OpenBlob {
  return {
    size: bytes.byteLength,
    read: (start, end) => onePiece(bytes.subarray(start, end)),
    async readInto(buffer, position) {
      const part = bytes.subarray(position, position + buffer.byteLength);
      buffer.set(part);
      return part.byteLength;
    },
    close: async () => undefined,
  };
}

export async function* onePiece(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}
