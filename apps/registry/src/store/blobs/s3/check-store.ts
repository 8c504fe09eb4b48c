import { randomUUID } from 'node:crypto';
import { KrmhubError } from '@krmhub/schema';
import type { S3Client } from './client.js';
import { deleteObject, hashOf, putObject } from './objects.js';
import { describeS3Place } from './place.js';
import { S3Error } from './s3-error.js';

const SUPPORTED =
  'Use a store that supports it, for example Amazon S3, MinIO, Ceph, or versitygw in a recent version.';

/**
 * Checks with a temporary object that the store does what krmhub relies on: it rejects bytes that do not match their
 * checksum, and does not replace an object in a conditional write. Rejects with `unsupported`, or with an S3Error.
 */
export async function checkStore(client: S3Client): Promise<void> {
  const key = `check/${randomUUID()}`;
  const bytes = Buffer.from('check');
  const where = describeS3Place(client.place);
  try {
    if ((await putObject(client, key, bytes)) !== 'created') throw new S3Error('a new object exists already');
    if ((await putObject(client, key, bytes)) !== 'exists') {
      throw new KrmhubError('unsupported', `${where}: the store ignores conditional writes (If-None-Match)`, {
        hint: SUPPORTED,
      });
    }
    if (!(await refusesWrongChecksum(client, key, bytes))) {
      throw new KrmhubError('unsupported', `${where}: the store does not verify SHA-256 checksums`, {
        hint: SUPPORTED,
      });
    }
  } finally {
    await deleteObject(client, key).catch(() => undefined);
  }
}

async function refusesWrongChecksum(client: S3Client, key: string, bytes: Uint8Array): Promise<boolean> {
  try {
    const response = await client.send({
      operation: 'put',
      method: 'PUT',
      key,
      body: bytes,
      headers: { 'x-amz-checksum-sha256': hashOf(Buffer.from('other')).toString('base64') },
    });
    return response.status === 412;
  } catch (error) {
    if (error instanceof S3Error && error.status === 400) return true;
    throw error;
  }
}
