import type { BlobStore, ReadableBlobs } from '@krmhub/catalog';
import { type Digest, KrmhubError } from '@krmhub/schema';
import type { BlobReader } from '../../store/blobs/reader.js';
import { copyBlob } from '../backup/files.js';

/** Files that are copied at a time: each waits for the disk, or for a store on another machine. */
const AT_A_TIME = 8;

/** One part of the files of a registry, on its way. */
export class CopiedFiles {
  readonly #source: BlobReader;
  readonly #target: BlobStore;
  /** Files of the target that were read back with the right digest. */
  readonly #verified = new Set<Digest>();

  constructor(source: BlobReader, target: BlobStore) {
    this.#source = source;
    this.#target = target;
  }

  get count(): number {
    return this.#verified.size;
  }

  /**
   * Copies files, and reads each back. A file that the target has is only read. Returns those that the source does
   * not have, or not intact.
   */
  async copy(digests: readonly Digest[], progress: (count: number) => Promise<void>): Promise<Digest[]> {
    const waiting = digests.filter((digest) => !this.#verified.has(digest));
    const present = new Set<Digest>();
    for await (const digest of this.#target.list()) present.add(digest);
    const missing: Digest[] = [];
    let next = 0;
    const work = async () => {
      for (let at = next++; at < waiting.length; at = next++) {
        const digest = waiting[at]!;
        if (await this.#copyOne(digest, present.has(digest))) this.#verified.add(digest);
        else missing.push(digest);
        await progress(at + 1);
      }
    };
    const results = await Promise.allSettled(Array.from({ length: AT_A_TIME }, work));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    return missing;
  }

  /** Deletes what the source has no more, such as files of a release that was taken down meanwhile. */
  async deleteOthers(digests: readonly Digest[]): Promise<void> {
    const named = new Set(digests);
    for await (const digest of this.#target.list()) if (!named.has(digest)) await this.#target.delete(digest);
  }

  async #copyOne(digest: Digest, isPresent: boolean): Promise<boolean> {
    if (isPresent) {
      if (await isIntact(this.#target, digest)) return true;
      await this.#target.delete(digest);
    }
    await copyBlob(this.#source, this.#target, digest);
    return isIntact(this.#target, digest);
  }
}

async function isIntact(files: ReadableBlobs, digest: Digest): Promise<boolean> {
  try {
    const stored = await files.read(digest);
    if (stored === undefined) return false;
    // The last piece comes only if the digest is right.
    for await (const _ of stored.pieces);
    return true;
  } catch (error) {
    if (error instanceof KrmhubError && error.code === 'internal') return false;
    throw error;
  }
}
