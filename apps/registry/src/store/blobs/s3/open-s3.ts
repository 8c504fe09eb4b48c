import type { BlobStore, OpenableBlobs } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { StoreAway } from '../../store-away.js';
import { translateFileError } from '../folder.js';
import type { BlobReader } from '../reader.js';
import { BlobCache } from './blob-cache.js';
import { checkStore } from './check-store.js';
import { type CountRequest, S3Client } from './client.js';
import type { CredentialSource } from './credentials.js';
import { S3_LIMITS } from './limits.js';
import { abortUpload, listUploads } from './objects.js';
import { claimPrefix, refuseOtherOwner } from './owner.js';
import { type PieceArea, type PieceStore, s3Pieces } from './pieces.js';
import type { S3Place } from './place.js';
import { readS3Blobs, s3Blobs } from './s3-blobs.js';
import { translateS3Error } from './s3-error.js';

export interface OpenS3Options {
  place: S3Place;
  credentials: CredentialSource;
  /** ID of the registry; `isNew` if its prefix may have no owner yet. */
  owner: { id: string; isNew: boolean };
  /** Folder of the cache and of uploads that are not complete. */
  cacheFolder: string;
  /** Bytes of the cache. */
  cacheBytes: number;
  /** Whether clients get presigned URLs. */
  redirect: boolean;
  /** Whether other processes use the prefix. */
  isShared?: boolean;
  countRequest?: CountRequest;
  countCacheRead?: (outcome: 'hit' | 'miss' | 'corrupt') => void;
}

/**
 * Opens an S3-compatible store for writing, checks what krmhub relies on, and removes uploads that an earlier process
 * did not complete. Rejects with `usage`, `unsupported`, or `unavailable`.
 */
export async function openS3(
  options: OpenS3Options,
): Promise<{ area(name: string): BlobStore; pieces(area: PieceArea): PieceStore }> {
  const { place, credentials, owner, cacheFolder, cacheBytes, redirect, isShared = false } = options;
  const { countRequest, countCacheRead } = options;
  const client = new S3Client({
    place,
    credentials,
    ...defined({ count: countRequest }),
  });
  try {
    await refuseOtherOwner(client, owner);
    await checkStore(client);
    if (owner.isNew) await claimPrefix(client, owner.id);
    // Of several processes, another one may be sending.
    const before = isShared ? Date.now() - S3_LIMITS.abandonedMilliseconds : Number.POSITIVE_INFINITY;
    for (const upload of await listUploads(client, '')) {
      if (upload.started.getTime() < before) await abortUpload(client, upload);
    }
  } catch (error) {
    throw translateS3Error(place, error);
  }
  const cache = await BlobCache.open({
    folder: cacheFolder,
    maxBytes: cacheBytes,
    ...defined({ count: countCacheRead }),
  }).catch((error: unknown) => {
    throw translateFileError(cacheFolder, error);
  });
  return {
    area: (area) => s3Blobs({ client, area, cache, redirect }),
    pieces: (area) => s3Pieces(client, area),
  };
}

/** Rejects with `StoreAway` if the store does not answer, and with `usage` if there are no credentials. What else is wrong, `openS3` reports. */
export async function reachS3(place: S3Place, credentials: CredentialSource): Promise<void> {
  const client = new S3Client({ place, credentials });
  try {
    await client.send({ operation: 'list', method: 'GET', query: { 'max-keys': '0' }, attempts: 1 });
  } catch (error) {
    const translated = translateS3Error(place, error);
    if (translated instanceof StoreAway || error instanceof KrmhubError) throw translated;
  }
}

/** Reads a store that another process or thread may be writing to. */
export function readS3(
  place: S3Place,
  credentials: CredentialSource,
): { area(name: string): BlobReader & OpenableBlobs } {
  const client = new S3Client({ place, credentials });
  return { area: (area) => readS3Blobs({ client, area }) };
}
