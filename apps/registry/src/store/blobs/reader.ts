import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import type { BlobStore } from '@krmhub/catalog';
import { type Digest, isDigest } from '@krmhub/schema';
import { blobsIn, paths, translateFileError } from './folder.js';

/** A blob folder that another process may be writing to, for reading alone. */
export interface BlobReader extends Pick<BlobStore, 'get' | 'read'> {
  /** Every blob, by its digest. */
  blobs(): AsyncIterable<StoredFile & { digest: Digest }>;
  /** Files that are no blobs: what is being written, and what a process that was killed left. */
  unfinished(): AsyncIterable<StoredFile>;
}

export interface StoredFile {
  file: string;
  /** Bytes. */
  size: number;
  /** When it was last written. */
  written: Date;
}

/** A folder that is not there reads as one that is empty. */
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
    // What was listed may be gone by now.
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
