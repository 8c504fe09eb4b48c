import type { BlobStore, SourceReader } from '@krmhub/catalog';
import type { Digest } from '@krmhub/schema';
import { SERVER_LIMITS } from '../limits.js';
import type { RwLock } from '../workers/locks/rw-lock.js';

/**
 * Deletes copies that no source uses any more. A backup or a check may be about to read a copy that was just
 * replaced, so unused copies are stored for a while.
 */
export class CopySweep {
  readonly #deps: { store: SourceReader; copies: BlobStore; copiesLock: RwLock };
  /** When each copy was first found unused: milliseconds since the epoch. */
  readonly #unnamed = new Map<Digest, number>();
  #next = 0;

  constructor(deps: {
    store: SourceReader;
    copies: BlobStore;
    copiesLock: RwLock;
  }) {
    this.#deps = deps;
  }

  /** Does nothing if the last sweep was recent. */
  async sweep(now: number): Promise<void> {
    if (now < this.#next) return;
    this.#next = now + SERVER_LIMITS.schedulePollMilliseconds;
    const { store, copies, copiesLock } = this.#deps;
    const stored = new Set<Digest>();
    for await (const digest of copies.list()) stored.add(digest);
    const named = await store.sourceCopyDigests();
    for (const digest of this.#unnamed.keys()) {
      if (named.has(digest) || !stored.has(digest)) this.#unnamed.delete(digest);
    }
    const old: Digest[] = [];
    for (const digest of stored) {
      if (named.has(digest)) continue;
      const since = this.#unnamed.get(digest) ?? now;
      this.#unnamed.set(digest, since);
      if (now - since >= SERVER_LIMITS.retainCopyMilliseconds) old.push(digest);
    }
    if (old.length === 0) return;
    await copiesLock.write(async () => {
      const still = await store.sourceCopyDigests();
      for (const digest of old) if (!still.has(digest)) await copies.delete(digest);
    });
  }
}
