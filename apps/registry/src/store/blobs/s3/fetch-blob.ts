import { createHash } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { type Digest, KrmhubError, sha256 } from '@krmhub/schema';
import { type BlobArea, damaged, objectName } from './area.js';
import type { BlobCache } from './blob-cache.js';
import { S3_LIMITS } from './limits.js';
import { getObject, type ObjectBody } from './objects.js';
import { S3Error } from './s3-error.js';

interface FetchOptions {
  /** Size of a blob that is cached. */
  maxBytes: number;
  /** Called with the size of a blob that is too large. */
  onLarge: (digest: Digest, size: number) => void;
}

/**
 * Reads a blob from the store into the cache. Returns `large` for one that is not cached, also because the disk
 * failed, and undefined for one that does not exist. Rejects with `internal` if its bytes do not match the digest.
 */
export async function fetchToCache(
  target: BlobArea & { cache: BlobCache },
  digest: Digest,
  { maxBytes, onLarge }: FetchOptions,
): Promise<'cached' | 'large' | undefined> {
  const { client, area, cache } = target;
  return attempts(async () => {
    const found = await getObject(client, objectName(area, digest));
    if (found === undefined) return undefined;
    if (found.size > maxBytes) {
      onLarge(digest, found.size);
      await found.cancel();
      return 'large';
    }
    const file = cache.temporaryFile();
    try {
      const actual = await writeBody(found, file);
      if (actual === undefined) return 'large';
      if (actual !== digest) throw damaged(target, digest);
      await cache.adopt(area, digest, file);
      return 'cached';
    } finally {
      await rm(file, { force: true }).catch(() => undefined);
    }
  });
}

/** Writes a body to a file and returns its digest; undefined if the disk fails. */
async function writeBody(body: ObjectBody, file: string): Promise<Digest | undefined> {
  const hash = createHash('sha256');
  let handle: Awaited<ReturnType<typeof open>> | undefined;
  try {
    handle = await open(file, 'wx', 0o600);
    for await (const piece of bounded(body)) {
      hash.update(piece);
      await handle.writeFile(piece);
    }
  } catch (error) {
    await body.cancel();
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
    return undefined;
  } finally {
    await handle?.close().catch(() => undefined);
  }
  return `sha256:${hash.digest('hex')}`;
}

/** Reads a whole blob into memory. Rejects with `internal` if its bytes do not match the digest. */
export async function readWhole(area: BlobArea, digest: Digest): Promise<Uint8Array | undefined> {
  return attempts(async () => {
    const found = await getObject(area.client, objectName(area.area, digest));
    if (found === undefined) return undefined;
    if (found.size > S3_LIMITS.maxMemoryBytes) {
      await found.cancel();
      throw new KrmhubError('too-large', `${digest} has ${found.size} bytes, too many to read into memory`);
    }
    const pieces: Uint8Array[] = [];
    for await (const piece of bounded(found)) pieces.push(piece);
    const bytes = Buffer.concat(pieces);
    if (sha256(bytes) !== digest) throw damaged(area, digest);
    return bytes;
  });
}

async function* bounded({ size, pieces }: ObjectBody): AsyncGenerator<Uint8Array> {
  let at = 0;
  for await (const piece of pieces) {
    at += piece.byteLength;
    if (at > size) break;
    yield piece;
  }
  if (at !== size) throw new S3Error(`the response has another size than ${size} bytes`);
}

/** Repeats a read that breaks off, and once one that arrives damaged. */
async function attempts<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      const isDamaged = error instanceof KrmhubError && error.code === 'internal' && attempt === 1;
      const brokeOff = error instanceof S3Error && error.isTemporary;
      if (!isDamaged && !(brokeOff && attempt < S3_LIMITS.maxAttempts)) throw error;
    }
  }
}
