import type { Digest } from '@krmhub/schema';
import { type BlobArea, objectName } from './area.js';
import { isIntact } from './is-intact.js';
import { S3_LIMITS } from './limits.js';
import { multipart } from './multipart.js';
import { putObject } from './objects.js';

/** Stores a blob that is in memory. */
export async function storeObject(area: BlobArea, digest: Digest, bytes: Uint8Array): Promise<void> {
  if (bytes.byteLength > S3_LIMITS.partBytes) {
    const upload = multipart(area, digest, bytes.byteLength, async (start, end) =>
      bytes.subarray(start, end),
    );
    try {
      await upload.send();
      await upload.complete();
    } catch (error) {
      await upload.abort();
      throw error;
    }
    return;
  }
  const key = objectName(area.area, digest);
  const hash = Buffer.from(digest.slice('sha256:'.length), 'hex');
  if ((await putObject(area.client, key, bytes, { hash })) === 'created') return;
  if (await isIntact(area, digest, bytes.byteLength)) return;
  await putObject(area.client, key, bytes, { hash, replace: true });
}
