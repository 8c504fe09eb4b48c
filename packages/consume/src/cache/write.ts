import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Digest } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls } from '@krmhub/schema/text';
import { makeFolder } from '@krmhub/sources/make-folder';
import { diskError } from '../files/read-file.js';

/** Other users must not read or change what this user runs. */
export const FOLDER_MODE = 0o700;
export const FILE_MODE = 0o600;

export interface WrittenBlob {
  digest: Digest;
  /** Bytes. */
  size: number;
  file: string;
}

/**
 * Writes a file whole or not at all. Unlike `writeDurably`, it waits for no disk: what is lost in a crash is fetched
 * again, and what is damaged does not have its digest.
 */
export async function writeCacheFile(
  file: string,
  bytes: Uint8Array,
  temporaryFolder: string,
): Promise<void> {
  await replace(temporaryFolder, async (handle) => {
    await handle.writeFile(bytes);
    return file;
  });
}

export async function writeStream(
  source: AsyncIterable<Uint8Array>,
  options: {
    maxBytes: number;
    expected?: Digest;
    temporaryFolder: string;
    place: (digest: Digest) => string;
  },
): Promise<WrittenBlob> {
  const { maxBytes, expected } = options;
  const hash = createHash('sha256');
  let size = 0;
  let digest: Digest | undefined;
  const file = await replace(options.temporaryFolder, async (handle) => {
    for await (const chunk of source) {
      size += chunk.byteLength;
      if (size > maxBytes) throw new KrmhubError('too-large', `more than ${maxBytes} bytes`);
      hash.update(chunk);
      await handle.writeFile(chunk);
    }
    digest = `sha256:${hash.digest('hex')}`;
    if (expected !== undefined && digest !== expected) {
      throw new KrmhubError('digest-mismatch', `digest mismatch: expected ${expected}, got ${digest}`);
    }
    return options.place(digest);
  });
  return { digest: digest!, size, file };
}

/** Writes a temporary file and renames it to the path that `write` returns. Leaves nothing behind if that fails. */
async function replace(
  temporaryFolder: string,
  write: (handle: FileHandle) => Promise<string>,
): Promise<string> {
  const temporary = path.join(temporaryFolder, randomUUID());
  try {
    const handle = await openIn(temporaryFolder, temporary);
    let file: string;
    try {
      file = await write(handle);
    } finally {
      await handle.close();
    }
    await renameInto(temporary, file);
    return file;
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    if (error instanceof KrmhubError) throw error;
    throw diskError(error, escapeControls(`cannot write the cache in ${path.dirname(temporaryFolder)}`));
  }
}

async function openIn(folder: string, file: string): Promise<FileHandle> {
  try {
    return await open(file, 'wx', FILE_MODE);
  } catch (error) {
    if (!isMissing(error)) throw error;
    await makeFolder(folder, FOLDER_MODE);
    return open(file, 'wx', FILE_MODE);
  }
}

async function renameInto(temporary: string, file: string): Promise<void> {
  try {
    await rename(temporary, file);
  } catch (error) {
    if (!isMissing(error)) throw error;
    await makeFolder(path.dirname(file), FOLDER_MODE);
    await rename(temporary, file);
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
