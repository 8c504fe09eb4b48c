import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import type { BlobStore, BlobWriter } from '@krmhub/catalog';
import { type Digest, isDigest, KrmhubError, sha256 } from '@krmhub/schema';
import { isDiskFull } from '@krmhub/schema/disk-error';
import { syncFolder } from '@krmhub/sources/durable-file';
import { type BlobPlace, UnfinishedBlob } from './unfinished-blob.js';

/** Bytes per read of a whole blob. */
const READ_BYTES = 262_144;
/** Bytes per read of a part of a blob. */
const PART_BYTES = 524_288;
/** Bytes above which a put compares a blob that exists, and does not write it again. */
const COMPARED_BYTES = 65_536;

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
  const ensureShard = async (digest: Digest): Promise<string> => {
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
    return shard;
  };

  const place: BlobPlace = {
    unfinished: paths.unfinished(folder),
    ensureShard,
    fileOf: (digest) => paths.blob(folder, digest),
  };

  const putBytes = async (bytes: Uint8Array): Promise<Digest> => {
    // A small blob is written again in less time than it is compared.
    if (bytes.byteLength > COMPARED_BYTES && (await isStored(bytes))) {
      const digest = sha256(bytes);
      // Another put may have renamed it a moment ago and not synced the folders yet.
      await syncFolder(await ensureShard(digest));
      return digest;
    }
    const blob = new UnfinishedBlob(place);
    await blob.write([bytes]);
    return blob.commit();
  };

  const isStored = async (bytes: Uint8Array): Promise<boolean> => {
    const stored = await ifThere(() => readFile(paths.blob(folder, sha256(bytes))));
    return stored?.equals(bytes) === true;
  };

  const createWriter = (): BlobWriter => {
    const blob = new UnfinishedBlob(place);
    return {
      write: (...pieces) => translated(folder, () => blob.write(pieces)),
      digest: () => blob.digest(),
      sync: () => translated(folder, () => blob.sync()),
      pieces: () => filePieces(folder, () => blob.flushed()),
      inMemory: () => blob.inMemory(),
      commit: () => translated(folder, () => blob.commit()),
      discard: () => blob.discard(),
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
        read: (start, end) => readPart(folder, handle, start, end),
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
    const blob = new UnfinishedBlob(place);
    try {
      await blob.write([Buffer.from('check')]);
      await blob.sync();
    } finally {
      await blob.discard();
    }
  };

  return {
    put: (bytes) => translated(folder, () => putBytes(bytes)),
    get: (digest) => translated(folder, () => getBytes(digest)),
    write: async () => createWriter(),
    read: (digest) => translated(folder, () => reader(digest)),
    open: (digest) => translated(folder, () => openBlob(digest)),
    delete: (digest) => translated(folder, () => deleteBytes(digest)),
    list: listBlobs,
    check: () => translated(folder, checkWritable),
  };
}

async function* filePieces(folder: string, find: () => Promise<string>): AsyncIterable<Uint8Array> {
  try {
    yield* createReadStream(await find(), { highWaterMark: READ_BYTES });
  } catch (error) {
    throw translateFileError(folder, error);
  }
}

/** Yields a range of a file, and closes it. */
export async function* readPart(
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
  if (isDiskFull(code)) {
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
