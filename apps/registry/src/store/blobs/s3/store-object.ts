import { createHash } from 'node:crypto';
import type { Digest } from '@krmhub/schema';
import { type BlobArea, keyOf } from './area.js';
import { S3_LIMITS } from './limits.js';
import { multipart } from './multipart.js';
import { headObject, putObject } from './objects.js';
import { streamObject } from './stream-object.js';

/** Stores a blob that is in memory. */
export async function storeObject(area: BlobArea, digest: Digest, bytes: Uint8Array): Promise<void> {
  if (bytes.byteLength > S3_LIMITS.partBytes) {
    const upload = multipart(area, digest, bytes.byteLength, async (start, end) =>
      bytes.subarray(start, end),
    );
    await upload.send();
    await upload.complete();
    return;
  }
  const key = keyOf(area.area, digest);
  const hash = Buffer.from(digest.slice('sha256:'.length), 'hex');
  if ((await putObject(area.client, key, bytes, { hash })) === 'created') return;
  if (await isIntact(area, digest, bytes.byteLength)) return;
  await putObject(area.client, key, bytes, { hash, replace: true });
}

/** Whether the object has the bytes of its digest. Only a read shows it: what it was stored with may be damaged. */
export async function isIntact(area: BlobArea, digest: Digest, size: number): Promise<boolean> {
  if ((await headObject(area.client, keyOf(area.area, digest))) !== size) return false;
  const hash = createHash('sha256');
  for await (const piece of streamObject(area, digest, { start: 0, end: size })) hash.update(piece);
  return `sha256:${hash.digest('hex')}` === digest;
}
