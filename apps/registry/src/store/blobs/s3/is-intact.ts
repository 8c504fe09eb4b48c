import { createHash } from 'node:crypto';
import type { Digest } from '@krmhub/schema';
import { type BlobArea, objectName } from './area.js';
import { headObject } from './objects.js';
import { streamObject } from './stream-object.js';

/** Whether the object has the bytes of its digest. Only a read shows it: what it was stored with may be damaged. */
export async function isIntact(area: BlobArea, digest: Digest, size: number): Promise<boolean> {
  if ((await headObject(area.client, objectName(area.area, digest))) !== size) return false;
  const hash = createHash('sha256');
  for await (const piece of streamObject(area, digest, { start: 0, end: size })) hash.update(piece);
  return `sha256:${hash.digest('hex')}` === digest;
}
