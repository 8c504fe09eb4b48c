import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import type { BlobStore } from '@krmhub/catalog';
import { type Digest, isDigest } from '@krmhub/schema';
import { blobsIn, paths, translateFileError } from './folder.js';

/** A read-only blob folder that another process may be writing to. */
export interface BlobReader extends Pick<BlobStore, 'get' | 'read'> {
  /** Yields every blob. */
  blobs(): AsyncIterable<StoredFile & { digest: Digest }>;
  /** Yields temporary files: of running writes and of killed processes. */
  unfinished(): AsyncIterable<StoredFile>;
}

export interface StoredFile {
  file: string;
  /** Bytes. */
  size: number;
  /** Time of the last write. */
  written: Date;
}

/** Opens a blob folder read-only. A missing folder reads as empty. */
export function readBlobFolder(folder: string): BlobReader {
  return {
    get: blobsIn(folder).get,
    read: blobsIn(folder).read,
    async *blobs() {
      for (const shard of await namesIn(paths.blobs(folder))) {
        for await (const stored of filesIn(path.join(paths.blobs(folder), shard))) {
          const digest = `sha256:${path.basename(stored.file)}`;
          if (isDigest(digest)) yield { ...stored, digest };
        }
      }
    },
    unfinished: () => filesIn(paths.unfinished(folder)),
  };
}

async function* filesIn(folder: string): AsyncGenerator<StoredFile> {
  for (const name of await namesIn(folder)) {
    const file = path.join(folder, name);
    // A listed file may be deleted by now.
    const found = await stat(file).catch(() => undefined);
    if (found?.isFile()) yield { file, size: found.size, written: found.mtime };
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw translateFileError(folder, error);
  }
}
