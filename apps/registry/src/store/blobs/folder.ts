import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import type { BlobStore, BlobWriter } from '@krmhub/catalog';
import { type Digest, isDigest, KrmhubError, sha256 } from '@krmhub/schema';
import { syncFolder } from '@krmhub/sources/durable-file';

/** Bytes per read of a whole blob. */
const READ_BYTES = 262_144;
/** Bytes per read of a part of a blob. */
const PART_BYTES = 524_288;

/** Paths below a blob folder. */
export const paths = {
  blobs: (folder: string) => path.join(folder, 'sha256'),
  /** Folder of a blob: one of 256, by its first two digits. */
  shard: (folder: string, digest: Digest) => path.join(paths.blobs(folder), hex(digest).slice(0, 2)),
  blob: (folder: string, digest: Digest) => path.join(paths.shard(folder, digest), hex(digest)),
  unfinished: (folder: string) => path.join(folder, 'unfinished'),
};

/**
 * Opens a blob folder, and creates it if it is missing. It belongs to one process. Open it after the database next to
 * it, whose lock ensures that, because opening deletes unfinished files of an earlier process. Rejects with
 * `storage-full`, and with `unavailable` if the folder cannot be used.
 */
export async function openBlobFolder(folder: string): Promise<BlobStore> {
  return blobsIn(folder, await translated(folder, () => prepareFolder(folder)));
}

/**
 * Returns the blobs of a folder that another thread of this process has opened.
 * @param present Shards that are known to be durable.
 */
export function blobsIn(folder: string, present: readonly string[] = []): BlobStore {
  /** Shards that are durable. One that another thread made may not be, so each thread syncs it once. */
  const shards = new Map(present.map((name) => [name, Promise.resolve()]));

  /** Creates the shard of a blob if it is missing, and makes it durable. */
  const ensureShard = async (digest: Digest): Promise<void> => {
    const shard = paths.shard(folder, digest);
    const name = path.basename(shard);
    const ensured = shards.get(name) ?? makeShard(folder, shard);
    shards.set(name, ensured);
    try {
      await ensured;
    } catch (error) {
      shards.delete(name);
      throw error;
    }
  };

  /** Creates a temporary file that no reader sees. */
  const openUnfinished = async (): Promise<{ file: string; handle: FileHandle }> => {
    const file = path.join(paths.unfinished(folder), randomUUID());
    return { file, handle: await open(file, 'wx', 0o644) };
  };

  /** Syncs a file unless `synced`, and renames it to its digest. */
  const keep = async (file: string, handle: FileHandle, digest: Digest, synced = false): Promise<void> => {
    if (!synced) await handle.sync();
    await handle.close();
    await ensureShard(digest);
    await rename(file, paths.blob(folder, digest));
  };

  const drop = async (file: string, handle: FileHandle): Promise<void> => {
    await handle.close().catch(() => undefined);
    await rm(file, { force: true }).catch(() => undefined);
  };

  const putBytes = async (bytes: Uint8Array): Promise<Digest> => {
    const digest = sha256(bytes);
    const stored = await ifThere(() => readFile(paths.blob(folder, digest)));
    if (stored === undefined || !stored.equals(bytes)) {
      const { file, handle } = await openUnfinished();
      try {
        await handle.writeFile(bytes);
        await keep(file, handle, digest);
      } catch (error) {
        await drop(file, handle);
        throw error;
      }
    }
    // Also for an existing blob: another put may have renamed it a moment ago and not synced the folders yet.
    await ensureShard(digest);
    await syncFolder(paths.shard(folder, digest));
    return digest;
  };

  const openWriter = async (): Promise<BlobWriter> => {
    const { file, handle } = await openUnfinished();
    const hash = createHash('sha256');
    let digest: Digest | undefined;
    let synced = false;
    const finish = (): Digest => {
      digest ??= `sha256:${hash.digest('hex')}`;
      return digest;
    };
    return {
      write: (bytes) =>
        translated(folder, async () => {
          synced = false;
          hash.update(bytes);
          await handle.writeFile(bytes);
        }),
      digest: finish,
      sync: () =>
        translated(folder, async () => {
          await handle.sync();
          synced = true;
        }),
      pieces: () => filePieces(folder, file),
      commit: () =>
        translated(folder, async () => {
          const committed = finish();
          try {
            await keep(file, handle, committed, synced);
          } catch (error) {
            await drop(file, handle);
            throw error;
          }
          await syncFolder(paths.shard(folder, committed));
          return committed;
        }),
      discard: () => drop(file, handle),
    };
  };

  const reader: BlobStore['read'] = async (digest) => {
    if (!isDigest(digest)) return undefined;
    const found = await ifThere(() => stat(paths.blob(folder, digest)));
    return found && { size: found.size, pieces: checkedPieces(folder, digest) };
  };

  const openBlob: BlobStore['open'] = async (digest) => {
    if (!isDigest(digest)) return undefined;
    const handle = await ifThere(() => open(paths.blob(folder, digest), 'r'));
    if (handle === undefined) return undefined;
    try {
      const { size } = await handle.stat();
      return {
        size,
        read: (start, end) => partOf(folder, handle, start, end),
        readInto: (buffer, position) =>
          translated(
            folder,
            async () => (await handle.read(buffer, 0, buffer.byteLength, position)).bytesRead,
          ),
        close: () => handle.close(),
      };
    } catch (error) {
      await handle.close();
      throw error;
    }
  };

  const getBytes = async (digest: Digest): Promise<Uint8Array | undefined> => {
    if (!isDigest(digest)) return undefined;
    const bytes = await ifThere(() => readFile(paths.blob(folder, digest)));
    if (bytes !== undefined && sha256(bytes) !== digest) throw damaged(folder, digest);
    return bytes;
  };

  const deleteBytes = async (digest: Digest): Promise<void> => {
    if (!isDigest(digest)) return;
    await rm(paths.blob(folder, digest), { force: true });
    await ifThere(() => syncFolder(paths.shard(folder, digest)));
  };

  async function* listBlobs(): AsyncIterable<Digest> {
    for (const shard of await translated(folder, () => readdir(paths.blobs(folder)))) {
      const names = await translated(folder, () => readdir(path.join(paths.blobs(folder), shard)));
      for (const digest of names.map((name) => `sha256:${name}`)) if (isDigest(digest)) yield digest;
    }
  }

  const checkWritable = async (): Promise<void> => {
    const { file, handle } = await openUnfinished();
    try {
      await handle.writeFile('check');
      await handle.sync();
    } finally {
      await drop(file, handle);
    }
  };

  return {
    put: (bytes) => translated(folder, () => putBytes(bytes)),
    get: (digest) => translated(folder, () => getBytes(digest)),
    write: () => translated(folder, openWriter),
    read: (digest) => translated(folder, () => reader(digest)),
    open: (digest) => translated(folder, () => openBlob(digest)),
    delete: (digest) => translated(folder, () => deleteBytes(digest)),
    list: listBlobs,
    check: () => translated(folder, checkWritable),
  };
}

async function* filePieces(folder: string, file: string): AsyncIterable<Uint8Array> {
  try {
    yield* createReadStream(file, { highWaterMark: READ_BYTES });
  } catch (error) {
    throw translateFileError(folder, error);
  }
}

async function* partOf(
  folder: string,
  handle: FileHandle,
  start: number,
  end: number,
): AsyncIterable<Uint8Array> {
  try {
    for (let at = start; at < end; ) {
      const wanted = Math.min(PART_BYTES, end - at);
      // Earlier pieces may still be queued for sending, so each needs its own buffer.
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafeSlow(wanted), 0, wanted, at);
      if (bytesRead === 0) throw new Error(`the blob ends after ${at} bytes, expected ${end}`);
      at += bytesRead;
      yield bytesRead === wanted ? buffer : buffer.subarray(0, bytesRead);
    }
  } catch (error) {
    throw translateFileError(folder, error);
  } finally {
    await handle.close();
  }
}

/** Yields the bytes of a blob. The last piece is yielded only after the digest of the whole is verified. */
async function* checkedPieces(folder: string, digest: Digest): AsyncIterable<Uint8Array> {
  const hash = createHash('sha256');
  let heldBack: Buffer | undefined;
  try {
    const file = createReadStream(paths.blob(folder, digest), { highWaterMark: READ_BYTES });
    for await (const piece of file) {
      hash.update(piece);
      if (heldBack !== undefined) yield heldBack;
      heldBack = piece;
    }
  } catch (error) {
    throw translateFileError(folder, error);
  }
  if (`sha256:${hash.digest('hex')}` !== digest) throw damaged(folder, digest);
  if (heldBack !== undefined) yield heldBack;
}

function damaged(folder: string, digest: Digest): KrmhubError {
  return new KrmhubError('internal', `stored bytes of ${digest} are corrupt: they do not match the digest`, {
    hint: `Restore the file from a backup: ${paths.blob(folder, digest)}`,
  });
}

/** Returns the shards that there are, which are durable then. */
async function prepareFolder(folder: string): Promise<string[]> {
  await mkdir(paths.blobs(folder), { recursive: true });
  await mkdir(paths.unfinished(folder), { recursive: true });
  for (const left of await readdir(paths.unfinished(folder))) {
    await rm(path.join(paths.unfinished(folder), left), { force: true });
  }
  const present = await readdir(paths.blobs(folder));
  for (const made of [paths.blobs(folder), folder, path.dirname(path.resolve(folder))])
    await syncFolder(made);
  return present;
}

/** Never creates the folder of all blobs: where it was removed, a put fails. */
async function makeShard(folder: string, shard: string): Promise<void> {
  await mkdir(shard).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  await syncFolder(paths.blobs(folder));
}

async function ifThere<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await work();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function translated<Result>(folder: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw translateFileError(folder, error);
  }
}

/** Translates errors of the operating system to KrmhubError; returns other errors unchanged. */
export function translateFileError(folder: string, error: unknown): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (!(error instanceof Error) || typeof code !== 'string' || syscall === undefined) return error;
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new KrmhubError('storage-full', `cannot write blobs to ${folder}: disk full`, {
      hint: 'Free some disk space. The registry stored nothing of this request.',
      cause: error,
    });
  }
  if (code === 'EMFILE' || code === 'ENFILE') {
    return new KrmhubError('unavailable', `cannot use the blobs in ${folder}: too many files are open`, {
      hint: 'Raise the limit of open files with `ulimit -n 65536`, or with LimitNOFILE= in a systemd unit.',
      cause: error,
    });
  }
  return new KrmhubError('unavailable', `cannot use the blobs in ${folder}: ${code} (${syscall})`, {
    hint: 'Check that the folder exists, that this user owns it, and that its disk works.',
    cause: error,
  });
}

function hex(digest: Digest): string {
  return digest.slice('sha256:'.length);
}
