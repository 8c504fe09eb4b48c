import type { Digest } from '@krmhub/schema';
import { KrmhubError } from '@krmhub/schema';
import { type BlobArea, objectName } from './area.js';
import { S3_LIMITS } from './limits.js';
import { getObject } from './objects.js';
import { S3Error, translateS3Error } from './s3-error.js';

/**
 * Streams a range of a blob. A response that breaks off is continued with another request, as long as each brings
 * bytes. Rejects with `unavailable` if the store fails, or the blob is deleted between two requests.
 */
export async function* streamObject(
  { client, area }: BlobArea,
  digest: Digest,
  { start, end }: { start: number; end: number },
): AsyncGenerator<Uint8Array> {
  let at = start;
  for (let failures = 0; at < end; ) {
    const before = at;
    try {
      const found = await getObject(client, objectName(area, digest), { start: at, end });
      if (found === undefined) throw deleted(digest);
      for await (const piece of found.pieces) {
        // A server that sends too much does not get more than the range through.
        const wanted = piece.byteLength > end - at ? piece.subarray(0, end - at) : piece;
        at += wanted.byteLength;
        yield wanted;
        if (at >= end) return;
      }
      throw new S3Error(`the blob ended after ${at} bytes, expected ${end}`);
    } catch (error) {
      failures = at > before ? 1 : failures + 1;
      const isFinal = !(error instanceof S3Error) || !error.isTemporary || failures >= S3_LIMITS.maxAttempts;
      if (isFinal) throw translateS3Error(client.place, error);
    }
  }
}

function deleted(digest: Digest): KrmhubError {
  return new KrmhubError('unavailable', `${digest} was deleted`, {
    hint: 'Try again. Bytes that were taken down stay deleted.',
  });
}
