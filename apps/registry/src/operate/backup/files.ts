import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { copyFile, open, readFile } from 'node:fs/promises';
import type { BlobStore } from '@krmhub/catalog';
import { type Digest, KrmhubError } from '@krmhub/schema';
import { isDiskFull } from '@krmhub/schema/disk-error';
import type { BlobReader } from '../../store/blobs/reader.js';

/** Runs work on files below a folder, and translates system errors. */
export async function fileErrors<Result>(folder: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (error instanceof KrmhubError || syscall === undefined) throw error;
    const full = isDiskFull(code);
    throw new KrmhubError(
      full ? 'storage-full' : 'unavailable',
      full ? `cannot write to ${folder}: disk full` : `cannot use ${folder}: ${code} (${syscall})`,
      {
        hint: full
          ? 'Free some disk space. krmhub removed the partial files.'
          : 'Check that it is a folder, that you own it, and that its disk works.',
        cause: error,
      },
    );
  }
}

/** Writes a new file. It is durable once its folder is synced too. */
export async function writeFile(file: string, content: Uint8Array | string, mode: number): Promise<void> {
  await fileErrors(file, async () => {
    const handle = await open(file, 'wx', mode);
    try {
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
  });
}

/** Returns undefined if the file does not exist. */
export async function readFileBytes(file: string): Promise<Uint8Array | undefined> {
  return fileErrors(file, () =>
    readFile(file).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    }),
  );
}

/** Copies a file of any size. The copy is durable once its folder is synced too. */
export async function copyFileBytes(from: string, to: string): Promise<void> {
  await fileErrors(to, async () => {
    await copyFile(from, to);
    const handle = await open(to, 'r+');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  });
}

/** Returns the digest of a file of any size. */
export async function fileDigest(file: string): Promise<Digest> {
  return fileErrors(file, async () => {
    const hash = createHash('sha256');
    for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
    return `sha256:${hash.digest('hex')}` as const;
  });
}

/**
 * Copies a blob of any size and verifies its digest. A missing or damaged blob is left out: the check of the copy
 * reports it.
 */
export async function copyBlob(source: BlobReader, target: BlobStore, digest: Digest): Promise<void> {
  const stored = await source.read(digest);
  if (stored === undefined) return;
  const writer = await target.write();
  try {
    for await (const piece of stored.pieces) await writer.write(piece);
    await writer.commit();
  } catch (error) {
    await writer.discard();
    if (!(error instanceof KrmhubError && error.code === 'internal')) throw error;
  }
}
