import { KrmhubError } from '@krmhub/schema/error';
import type { Cache } from './cache.js';

/**
 * Writes to the cache if that is possible. A full or read-only disk makes a command slower, but does not stop it:
 * `problem` says why nothing was stored.
 */
export class CacheWriter {
  readonly #cache: Cache;
  #problem: string | undefined;

  constructor(cache: Cache) {
    this.#cache = cache;
  }

  get problem(): string | undefined {
    return this.#problem;
  }

  async write(work: (cache: Cache) => Promise<void>): Promise<boolean> {
    if (this.#problem !== undefined) return false;
    try {
      await work(this.#cache);
      return true;
    } catch (error) {
      if (!(error instanceof KrmhubError)) throw error;
      this.#problem = error.message;
      return false;
    }
  }
}
