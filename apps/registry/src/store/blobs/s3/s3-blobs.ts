/**
 * Blobs as objects of an S3-compatible store, by digest.
 *
 * Blobs of moderate size are read through a cache on the local disk, whose files stay readable while a blob is deleted;
 * larger ones are streamed. The store verifies the SHA-256 of what it stores, and does not replace an object; krmhub
 * verifies what it reads.
 *
 * @module
 */

import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import type { BlobStore, OpenableBlobs, OpenBlob } from '@krmhub/catalog';
import { type Digest, isDigest, sha256 } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { readPart, translateFileError } from '../folder.js';
import type { BlobReader, StoredFile } from '../reader.js';
import { type BlobArea, damaged, objectDigest, objectName } from './area.js';
import type { BlobCache } from './blob-cache.js';
import { fetchToCache, readWhole } from './fetch-blob.js';
import { S3_LIMITS } from './limits.js';
import { deleteObject, headObject, listObjects, listUploads, putObject } from './objects.js';
import { translateS3Error } from './s3-error.js';
import { S3Writer } from './s3-writer.js';
import { storeObject } from './store-object.js';
import { streamObject } from './stream-object.js';

export interface S3BlobsOptions extends BlobArea {
  cache: BlobCache;
  /** Whether clients may get presigned URLs. */
  redirect: boolean;
}

/** Returns the blobs of one area of an opened store. */
export function s3Blobs(options: S3BlobsOptions): BlobStore {
  const { client, area, cache, redirect } = options;
  /** Reads from the store into the cache, so that concurrent readers share one. */
  const fetching = new Map<Digest, { isDeleted: boolean; done: Promise<'cached' | 'large' | undefined> }>();
  /** Blobs that are known not to be cached, with their sizes. */
  const large = new Map<Digest, number>();
  const translated = <Result>(work: () => Promise<Result>) => translate(options, work);
  const maxCached = Math.min(S3_LIMITS.maxCachedBytes, cache.maxBytes * S3_LIMITS.maxCachedShare);

  const remember = (digest: Digest, size: number): void => {
    if (large.size >= MAX_REMEMBERED) large.clear();
    large.set(digest, size);
  };

  /** Brings a blob into the cache. */
  const fetchBlob = async (digest: Digest): Promise<'cached' | 'large' | undefined> => {
    const running = fetching.get(digest);
    if (running !== undefined) return running.done;
    const fetch = { isDeleted: false, done: Promise.resolve<'cached' | 'large' | undefined>(undefined) };
    fetching.set(digest, fetch);
    fetch.done = (async () => {
      try {
        const fetched = await fetchToCache(options, digest, { maxBytes: maxCached, onLarge: remember });
        // The caller that deletes a blob relies on its bytes being gone.
        if (fetch.isDeleted) await cache.delete(area, digest);
        return fetched;
      } finally {
        fetching.delete(digest);
      }
    })();
    return fetch.done;
  };

  const openCached = async (digest: Digest): Promise<{ handle: FileHandle; size: number } | undefined> => {
    if (large.has(digest)) return undefined;
    const cached = await cache.open(area, digest);
    if (cached !== undefined) return cached;
    return (await fetchBlob(digest)) === 'cached' ? cache.open(area, digest) : undefined;
  };

  const openBlob = async (digest: Digest): Promise<OpenBlob | undefined> => {
    if (!isDigest(digest)) return undefined;
    const cached = await openCached(digest);
    if (cached !== undefined) return openFile(cache.folder, cached);
    const open = await openObject(options, digest);
    if (open === undefined) large.delete(digest);
    return open;
  };

  const getBytes = async (digest: Digest): Promise<Uint8Array | undefined> => {
    if (!isDigest(digest)) return undefined;
    const cached = await openCached(digest);
    if (cached !== undefined) {
      try {
        const bytes = await cached.handle.readFile();
        if (sha256(bytes) === digest) return bytes;
      } catch {
        // The disk of the cache fails.
      } finally {
        await cached.handle.close();
      }
      await cache.delete(area, digest);
    }
    return readWhole(options, digest);
  };

  const deleteBlob = async (digest: Digest): Promise<void> => {
    if (!isDigest(digest)) return;
    large.delete(digest);
    await deleteObject(client, objectName(area, digest));
    // A read that is under way may have the bytes already. One that starts now finds none.
    const fetch = fetching.get(digest);
    if (fetch !== undefined) fetch.isDeleted = true;
    await cache.delete(area, digest);
  };

  return {
    put: (bytes) =>
      translated(async () => {
        const digest = sha256(bytes);
        await storeObject(options, digest, bytes);
        if (bytes.byteLength <= maxCached) await cache.add(area, digest, bytes);
        return digest;
      }),
    get: (digest) => translated(() => getBytes(digest)),
    write: async () => new S3Writer(options, maxCached),
    read: (digest) => translated(() => readS3Blob(options, digest)),
    open: (digest) => translated(() => openBlob(digest)),
    delete: (digest) => translated(() => deleteBlob(digest)),
    deleteCopies: async () => {
      for (const fetch of fetching.values()) fetch.isDeleted = true;
      await cache.deleteAll(area);
    },
    list: async function* () {
      for await (const { digest } of listArea(options)) yield digest;
    },
    check: () => translated(() => checkWritable(options)),
    ...defined({
      locate: redirect
        ? (digest: Digest) =>
            translated(() =>
              client.presign(objectName(area, digest), {
                'response-content-type': 'application/octet-stream',
                'response-content-disposition': 'attachment',
              }),
            )
        : undefined,
    }),
  };
}

/** Large blobs of which the size is known, so that they are not read twice. */
const MAX_REMEMBERED = 10_000;

/** Returns the blobs of an area without a cache, for commands and other threads. */
export function readS3Blobs(area: BlobArea): BlobReader & OpenableBlobs {
  return {
    open: (digest) => translate(area, async () => (isDigest(digest) ? openObject(area, digest) : undefined)),
    get: (digest) => translate(area, async () => (isDigest(digest) ? readWhole(area, digest) : undefined)),
    read: (digest) => translate(area, () => readS3Blob(area, digest)),
    blobs: () => listArea(area),
    async *unfinished() {
      const uploads = await translate(area, () => listUploads(area.client, `${area.area}/`));
      for (const { key, started } of uploads) yield { file: key, size: 0, written: started };
    },
  };
}

/** Yields all pieces from the store; the last one only after the digest of the whole is verified. */
async function readS3Blob(
  area: BlobArea,
  digest: Digest,
): Promise<{ size: number; pieces: AsyncIterable<Uint8Array> } | undefined> {
  if (!isDigest(digest)) return undefined;
  const size = await headObject(area.client, objectName(area.area, digest));
  if (size === undefined) return undefined;
  const checked = async function* () {
    const hash = createHash('sha256');
    let heldBack: Uint8Array | undefined;
    for await (const piece of streamObject(area, digest, { start: 0, end: size })) {
      hash.update(piece);
      if (heldBack !== undefined) yield heldBack;
      heldBack = piece;
    }
    if (`sha256:${hash.digest('hex')}` !== digest) throw damaged(area, digest);
    if (heldBack !== undefined) yield heldBack;
  };
  return { size, pieces: checked() };
}

async function* listArea(area: BlobArea): AsyncGenerator<StoredFile & { digest: Digest }> {
  try {
    for await (const { key, size, written } of listObjects(area.client, `${area.area}/`)) {
      const digest = objectDigest(area.area, key);
      if (digest !== undefined) yield { digest, file: key, size, written };
    }
  } catch (error) {
    throw translateS3Error(area.client.place, error);
  }
}

async function checkWritable({ client }: BlobArea): Promise<void> {
  await putObject(client, 'writable', Buffer.from('check'), { replace: true, attempts: 1 });
}

/** Opens a blob that is not cached. */
async function openObject(area: BlobArea, digest: Digest): Promise<OpenBlob | undefined> {
  const size = await headObject(area.client, objectName(area.area, digest));
  if (size === undefined) return undefined;
  const read = (start: number, end: number) => streamObject(area, digest, { start, end });
  return {
    size,
    isRemote: true,
    read,
    readInto: async (buffer, position) => {
      const start = position;
      let at = start;
      for await (const piece of read(start, Math.min(start + buffer.byteLength, size))) {
        buffer.set(piece, at - start);
        at += piece.byteLength;
      }
      return at - start;
    },
    close: async () => undefined,
  };
}

function openFile(folder: string, { handle, size }: { handle: FileHandle; size: number }): OpenBlob {
  return {
    size,
    read: (start, end) => readPart(folder, handle, start, end),
    readInto: async (buffer, position) => {
      try {
        return (await handle.read(buffer, 0, buffer.byteLength, position)).bytesRead;
      } catch (error) {
        throw translateFileError(folder, error);
      }
    },
    close: () => handle.close(),
  };
}

async function translate<Result>({ client }: BlobArea, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw translateS3Error(client.place, error);
  }
}
