/**
 * One prefix of a bucket has the blobs of one registry: garbage collection of another one would delete them. An object
 * in the prefix and a file in the data folder, or a row of a database in PostgreSQL, have the same ID. The file also tells commands where the blobs are, and
 * prevents a start without them.
 */

import { KrmhubError } from '@krmhub/schema';
import type { S3Client } from './client.js';
import { getObject, putObject } from './objects.js';
import { describeS3Place } from './place.js';

const OWNER = 'registry.json';
const MAX_BYTES = 4_096;

/** Rejects with `usage` if the prefix belongs to another registry, or to none and is not new. Writes nothing. */
export async function refuseOtherOwner(
  client: S3Client,
  { id, isNew }: { id: string; isNew: boolean },
): Promise<void> {
  if (isNew && (await readOwner(client)) === undefined) return;
  await checkOwner(client, id);
}

/** Writes the ID of a registry to a new prefix. Rejects with `usage` if the prefix belongs to another registry. */
export async function claimPrefix(client: S3Client, id: string): Promise<void> {
  const body = Buffer.from(`${JSON.stringify({ registry: id })}\n`);
  if ((await putObject(client, OWNER, body)) === 'created') return;
  await checkOwner(client, id);
}

/** Rejects with `usage` if the prefix does not belong to the registry with this ID. */
async function checkOwner(client: S3Client, id: string): Promise<void> {
  const where = describeS3Place(client.place);
  const owner = await readOwner(client);
  if (owner === id) return;
  if (owner === undefined) {
    throw new KrmhubError('usage', `${where} does not have the blobs of this registry: ${OWNER} is missing`, {
      hint: 'Use the bucket and the endpoint that the registry used before, or restore a backup.',
    });
  }
  throw new KrmhubError('usage', `${where} has the blobs of another registry`, {
    hint: 'Use another prefix for each registry: s3://BUCKET/PREFIX. If they are of this registry, its database is lost: use the right database, or restore a backup to a new prefix.',
  });
}

async function readOwner(client: S3Client): Promise<string | undefined> {
  const found = await getObject(client, OWNER);
  if (found === undefined) return undefined;
  if (found.size > MAX_BYTES) {
    await found.cancel();
    return '';
  }
  const pieces: Uint8Array[] = [];
  for await (const piece of found.pieces) pieces.push(piece);
  try {
    const { registry } = JSON.parse(Buffer.concat(pieces).toString('utf8'));
    return typeof registry === 'string' ? registry : '';
  } catch {
    return '';
  }
}
