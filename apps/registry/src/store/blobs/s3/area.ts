import { type Digest, isDigest, KrmhubError } from '@krmhub/schema';
import type { S3Client } from './client.js';
import { describeS3Place } from './place.js';

/** The blobs below one name in a bucket. */
export interface BlobArea {
  client: S3Client;
  /** For example `artifacts`. */
  area: string;
}

/** Returns the object name of a blob: many stores keep names with different starts on different machines. */
export function objectName(area: string, digest: Digest): string {
  const hex = digest.slice('sha256:'.length);
  return `${area}/sha256/${hex.slice(0, 2)}/${hex}`;
}

/** Returns the digest of an object; undefined if it is not a blob of the area. */
export function objectDigest(area: string, key: string): Digest | undefined {
  const digest = `sha256:${key.slice(key.lastIndexOf('/') + 1)}`;
  return isDigest(digest) && objectName(area, digest) === key ? digest : undefined;
}

export function damaged({ client, area }: BlobArea, digest: Digest): KrmhubError {
  return new KrmhubError('internal', `stored bytes of ${digest} are corrupt: they do not match the digest`, {
    hint: `Restore the object from a backup: ${describeS3Place(client.place)}/${objectName(area, digest)}`,
  });
}
