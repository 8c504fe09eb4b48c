import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { KrmhubError } from '@krmhub/schema';
import type { S3Client } from './client.js';
import { S3_LIMITS } from './limits.js';
import { deleteObject, hashBytes, putObject } from './objects.js';
import { describeS3Place } from './place.js';
import { S3Error } from './s3-error.js';

const SUPPORTED =
  'krmhub needs SHA-256 checksums (x-amz-checksum-sha256) and conditional writes (If-None-Match). Use a store that supports them, for example Amazon S3, MinIO, Ceph, or versitygw in a recent version.';
/** Codes of stores that do not know a header of ours; others mean that the request may not be sent at all. */
const UNKNOWN_HEADER = ['NotImplemented', 'InvalidArgument', 'InvalidRequest', 'BadRequest'];

/**
 * Checks with temporary objects that the store does what krmhub relies on: it rejects bytes that do not match their
 * checksum, and does not replace an object in a conditional write. Rejects with `unsupported`, or with an S3Error.
 */
export async function checkStore(client: S3Client): Promise<void> {
  const keys: string[] = [];
  const bytes = Buffer.from('check');
  const where = describeS3Place(client.place);
  try {
    const key = await putNew(client, bytes, keys);
    if ((await putObject(client, key, bytes)) !== 'exists') {
      throw unsupported(`${where}: the store ignores conditional writes (If-None-Match)`);
    }
    if (!(await refusesWrongChecksum(client, key, bytes))) {
      throw unsupported(`${where}: the store does not verify SHA-256 checksums`);
    }
  } catch (error) {
    const isUnknown = error instanceof S3Error && (error.status === 501 || error.status === 400);
    if (!isUnknown || !UNKNOWN_HEADER.includes(error.code ?? 'NotImplemented')) throw error;
    throw unsupported(
      `${where}: the store rejects SHA-256 checksums or conditional writes: ${error.message}`,
      error,
    );
  } finally {
    for (const key of keys) await deleteObject(client, key).catch(() => undefined);
  }
}

/** Creates an object. Each attempt has its own name: a failed one may have created its object. */
async function putNew(client: S3Client, bytes: Uint8Array, keys: string[]): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    const key = `check/${randomUUID()}`;
    keys.push(key);
    try {
      if ((await putObject(client, key, bytes, { attempts: 1 })) === 'created') return key;
      throw new S3Error('a new object exists already', { status: 412 });
    } catch (error) {
      if (!(error instanceof S3Error && error.mayPass) || attempt >= S3_LIMITS.maxAttempts) throw error;
      await wait(S3_LIMITS.minRetryMilliseconds * 2 ** (attempt - 1));
    }
  }
}

async function refusesWrongChecksum(client: S3Client, key: string, bytes: Uint8Array): Promise<boolean> {
  try {
    const response = await client.send({
      operation: 'put',
      method: 'PUT',
      key,
      body: bytes,
      headers: { 'x-amz-checksum-sha256': hashBytes(Buffer.from('other')).toString('base64') },
    });
    return response.status === 412;
  } catch (error) {
    if (error instanceof S3Error && error.status === 400) return true;
    throw error;
  }
}

function unsupported(message: string, cause?: unknown): KrmhubError {
  return new KrmhubError('unsupported', message, { hint: SUPPORTED, cause });
}
