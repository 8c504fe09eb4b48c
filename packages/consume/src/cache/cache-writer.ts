import { KrmhubError } from '@krmhub/schema/error';
import type { Cache } from './cache.js';

/** A cache, and what writes to it. */
export interface EntryStore {
  cache: Cache;
  writer: CacheWriter;
}

/**
 * Writes to the cache if that is possible. A full or read-only disk makes a command slower, but does not stop it:
 * `problem` says why nothing was stored.
 */
export class CacheWriter {
  readonly #cache: Cache;
  /** Of the disk, which all parts of a cache share. */
  readonly #disk: { problem?: string };

  constructor(cache: Cache, disk: { problem?: string } = {}) {
    this.#cache = cache;
    this.#disk = disk;
  }

  get problem(): string | undefined {
    return this.#disk.problem;
  }

  /** Returns a writer for a part of the cache. */
  for(part: Cache): CacheWriter {
    return new CacheWriter(part, this.#disk);
  }

  async write(work: (cache: Cache) => Promise<void>): Promise<boolean> {
    if (this.#disk.problem !== undefined) return false;
    try {
      await work(this.#cache);
      return true;
    } catch (error) {
      if (!(error instanceof KrmhubError)) throw error;
      this.#disk.problem = error.message;
      return false;
    }
  }
}
