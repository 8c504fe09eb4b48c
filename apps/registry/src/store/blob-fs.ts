import { randomUUID } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { BlobStore } from '@krmhub/catalog';
import { type Digest, isDigest, KrmhubError, sha256 } from '@krmhub/schema';

/** Where things are below a blob folder. */
const paths = {
  blobs: (folder: string) => path.join(folder, 'sha256'),
  /** Blobs are spread over 256 folders by their first two digits. */
  shard: (folder: string, digest: Digest) => path.join(paths.blobs(folder), hex(digest).slice(0, 2)),
  blob: (folder: string, digest: Digest) => path.join(paths.shard(folder, digest), hex(digest)),
  unfinished: (folder: string) => path.join(folder, 'unfinished'),
};

/**
 * Blobs in a folder, which is made where it is missing. It belongs to one process, as the lock of the database
 * beside it sees to: open this one after that, since what an earlier process left unfinished is removed.
 * Rejects with `storage-full` where the disk is full, and `unavailable` where the folder cannot be used.
 */
export async function openBlobFolder(folder: string): Promise<BlobStore> {
  await translated(folder, () => prepareFolder(folder));

  /** Writes and syncs a file that no reader looks for. */
  const writeUnfinished = async (bytes: Uint8Array): Promise<string> => {
    const file = path.join(paths.unfinished(folder), randomUUID());
    try {
      const handle = await open(file, 'wx', 0o644);
      try {
        await handle.writeFile(bytes);
        await handle.sync();
      } finally {
        await handle.close();
      }
      return file;
    } catch (error) {
      await rm(file, { force: true }).catch(() => undefined);
      throw error;
    }
  };

  const putBytes = async (bytes: Uint8Array): Promise<Digest> => {
    const digest = sha256(bytes);
    const blob = paths.blob(folder, digest);
    const stored = await readIfThere(blob);
    if (stored === undefined || !stored.equals(bytes)) {
      const file = await writeUnfinished(bytes);
      try {
        await rename(file, blob);
      } catch (error) {
        await rm(file, { force: true }).catch(() => undefined);
        throw error;
      }
    }
    // Also where the blob was there: another put may have renamed it a moment ago and still be waiting for this.
    await syncFolder(paths.shard(folder, digest));
    return digest;
  };

  const getBytes = async (digest: Digest): Promise<Uint8Array | undefined> => {
    if (!isDigest(digest)) return undefined;
    const bytes = await readIfThere(paths.blob(folder, digest));
    if (bytes !== undefined && sha256(bytes) !== digest) {
      throw new KrmhubError(
        'internal',
        `The stored bytes of ${digest} are damaged: they no longer match their digest.`,
        {
          hint: `Put them back from a backup: ${paths.blob(folder, digest)}`,
        },
      );
    }
    return bytes;
  };

  const deleteBytes = async (digest: Digest): Promise<void> => {
    if (!isDigest(digest)) return;
    await rm(paths.blob(folder, digest), { force: true });
    await syncFolder(paths.shard(folder, digest));
  };

  async function* listBlobs(): AsyncIterable<Digest> {
    for (const shard of await translated(folder, () => readdir(paths.blobs(folder)))) {
      const names = await translated(folder, () => readdir(path.join(paths.blobs(folder), shard)));
      for (const digest of names.map((name) => `sha256:${name}`)) if (isDigest(digest)) yield digest;
    }
  }

  const checkWritable = async (): Promise<void> =>
    rm(await writeUnfinished(Buffer.from('check')), { force: true });

  return {
    put: (bytes) => translated(folder, () => putBytes(bytes)),
    get: (digest) => translated(folder, () => getBytes(digest)),
    delete: (digest) => translated(folder, () => deleteBytes(digest)),
    list: listBlobs,
    check: () => translated(folder, checkWritable),
  };
}

/** Makes every folder at once, so that a put has one folder to sync and not its parents too. */
async function prepareFolder(folder: string): Promise<void> {
  const shards = Array.from({ length: 256 }, (_, at) => at.toString(16).padStart(2, '0'));
  for (const shard of shards) await mkdir(path.join(paths.blobs(folder), shard), { recursive: true });
  await mkdir(paths.unfinished(folder), { recursive: true });
  for (const left of await readdir(paths.unfinished(folder))) {
    await rm(path.join(paths.unfinished(folder), left), { force: true });
  }
  for (const made of [paths.blobs(folder), folder, path.dirname(path.resolve(folder))])
    await syncFolder(made);
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function readIfThere(file: string): Promise<Buffer | undefined> {
  try {
    return await readFile(file);
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

/** The operating system's errors as the contract names them; anything else as it is. */
export function translateFileError(folder: string, error: unknown): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (!(error instanceof Error) || typeof code !== 'string' || syscall === undefined) return error;
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new KrmhubError('storage-full', `The disk that holds the blobs in ${folder} is full.`, {
      hint: 'Free space on it; nothing of this request was stored.',
      cause: error,
    });
  }
  return new KrmhubError('unavailable', `The blobs in ${folder} cannot be used (${code} from ${syscall}).`, {
    hint: 'Look whether the folder is there, belongs to this user, and its disk is sound.',
    cause: error,
  });
}

function hex(digest: Digest): string {
  return digest.slice('sha256:'.length);
}
