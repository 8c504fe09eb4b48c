/**
 * Copies of blobs on the local disk, up to a number of bytes. The least recently used are deleted first. The files of
 * an earlier process are used again. A file is used only after its bytes matched the digest; if it changes later, its
 * bytes are checked again. Every failure of the disk makes a miss.
 */

import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Digest } from '@krmhub/schema';

interface Cached {
  size: number;
  /** Identity of the file whose bytes matched; undefined for one of an earlier process. */
  checked: string | undefined;
}

export interface BlobCacheOptions {
  folder: string;
  /** 0 for no cache. */
  maxBytes: number;
  /** Called for each read. */
  count?: (outcome: 'hit' | 'miss' | 'corrupt') => void;
}

/** Bytes per read while a file is checked. */
const READ_BYTES = 262_144;

export class BlobCache {
  readonly maxBytes: number;
  readonly folder: string;
  /** Folder of temporary files. */
  readonly unfinished: string;
  readonly #count: (outcome: 'hit' | 'miss' | 'corrupt') => void;
  /** By file name, the least recently used first. */
  readonly #files = new Map<string, Cached>();
  #bytes = 0;

  private constructor({ folder, maxBytes, count = () => undefined }: BlobCacheOptions) {
    this.folder = folder;
    this.unfinished = path.join(folder, 'unfinished');
    this.maxBytes = maxBytes;
    this.#count = count;
  }

  /** Creates the folder if it is missing, and deletes the temporary files of an earlier process. */
  static async open(options: BlobCacheOptions): Promise<BlobCache> {
    const cache = new BlobCache(options);
    await mkdir(cache.unfinished, { recursive: true, mode: 0o700 });
    for (const name of await readdir(cache.unfinished))
      await rm(path.join(cache.unfinished, name), { force: true });
    const found: { name: string; size: number; used: number }[] = [];
    for (const name of await readdir(options.folder)) {
      const file = await stat(path.join(options.folder, name)).catch(() => undefined);
      if (file?.isFile()) found.push({ name, size: file.size, used: file.mtimeMs });
    }
    for (const { name, size } of found.sort((a, b) => a.used - b.used)) cache.#add(name, size, undefined);
    await cache.#evict();
    return cache;
  }

  /** Bytes of all files. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Path of a new temporary file. */
  temporaryFile(): string {
    return path.join(this.unfinished, randomUUID());
  }

  /** Opens a copy; undefined if there is none. The caller closes it. `area` separates equal blobs of two stores. */
  async open(area: string, digest: Digest): Promise<{ handle: FileHandle; size: number } | undefined> {
    const name = fileName(area, digest);
    const cached = this.#files.get(name);
    const found = cached === undefined ? undefined : await this.#openChecked(name, digest, cached);
    if (found === undefined) {
      this.#count('miss');
      return undefined;
    }
    this.#count('hit');
    return found;
  }

  /** Adds a finished temporary file whose bytes match the digest, or deletes it if it is too large. */
  async adopt(area: string, digest: Digest, file: string): Promise<void> {
    try {
      const { size } = await stat(file);
      if (size > this.maxBytes) return;
      const name = fileName(area, digest);
      await rename(file, path.join(this.folder, name));
      this.#add(name, size, fileIdentity(await stat(path.join(this.folder, name))));
      await this.#evict();
    } catch {
      // A full or broken disk: the blob is read from the store.
    } finally {
      await rm(file, { force: true }).catch(() => undefined);
    }
  }

  /** Adds bytes that match the digest. */
  async add(area: string, digest: Digest, bytes: Uint8Array): Promise<void> {
    if (bytes.byteLength > this.maxBytes) return;
    const file = this.temporaryFile();
    try {
      await writeFile(file, bytes, { mode: 0o600 });
    } catch {
      await rm(file, { force: true }).catch(() => undefined);
      return;
    }
    await this.adopt(area, digest, file);
  }

  async delete(area: string, digest: Digest): Promise<void> {
    const name = fileName(area, digest);
    this.#forget(name);
    // Also a file that this process does not know: its bytes must be gone.
    await rm(path.join(this.folder, name), { force: true });
  }

  /** Deletes all copies of one area. */
  async deleteAll(area: string): Promise<void> {
    for (const name of await readdir(this.folder)) {
      if (!name.startsWith(fileName(area, ''))) continue;
      this.#forget(name);
      await rm(path.join(this.folder, name), { force: true });
    }
  }

  async #openChecked(
    name: string,
    digest: Digest,
    cached: Cached,
  ): Promise<{ handle: FileHandle; size: number } | undefined> {
    let handle: FileHandle | undefined;
    try {
      handle = await open(path.join(this.folder, name), 'r');
      const file = await handle.stat();
      const identity = fileIdentity(file);
      if (cached.checked !== identity) {
        if ((await hashFile(handle)) !== digest) {
          this.#count('corrupt');
          throw new Error('the file is corrupt');
        }
        cached.checked = identity;
      }
      // Now the most recently used.
      if (this.#files.delete(name)) this.#files.set(name, cached);
      return { handle, size: file.size };
    } catch {
      await handle?.close().catch(() => undefined);
      this.#forget(name);
      await rm(path.join(this.folder, name), { force: true }).catch(() => undefined);
      return undefined;
    }
  }

  #add(name: string, size: number, checked: string | undefined): void {
    this.#forget(name);
    this.#files.set(name, { size, checked });
    this.#bytes += size;
  }

  #forget(name: string): void {
    this.#bytes -= this.#files.get(name)?.size ?? 0;
    this.#files.delete(name);
  }

  async #evict(): Promise<void> {
    for (const name of this.#files.keys()) {
      if (this.#bytes <= this.maxBytes) return;
      this.#forget(name);
      await rm(path.join(this.folder, name), { force: true }).catch(() => undefined);
    }
  }
}

function fileName(area: string, digest: Digest | ''): string {
  return `${area}-${digest.slice('sha256:'.length)}`;
}

function fileIdentity({ ino, size, mtimeMs, ctimeMs }: Awaited<ReturnType<typeof stat>>): string {
  return [ino, size, mtimeMs, ctimeMs].join();
}

async function hashFile(handle: FileHandle): Promise<Digest> {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(READ_BYTES);
  for (let at = 0; ; ) {
    const { bytesRead } = await handle.read(buffer, 0, buffer.byteLength, at);
    if (bytesRead === 0) return `sha256:${hash.digest('hex')}`;
    hash.update(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
}
