import type { BlobStore, SourceStore } from '@krmhub/catalog';
import type { Digest } from '@krmhub/schema';
import type { RwLock } from '../isolation/rw-lock.js';
import { SERVER_LIMITS } from '../limits.js';

/**
 * Removes copies that no source has any more. What a backup or a check is about to read may have lost its name a moment
 * ago, so that it stays for a while.
 */
export class CopySweep {
  readonly #parts: { store: Pick<SourceStore, 'sourceCopyDigests'>; copies: BlobStore; gate: RwLock };
  /** Since when a copy has been seen to have no name: milliseconds since the epoch. */
  readonly #unnamed = new Map<Digest, number>();
  #next = 0;

  constructor(parts: { store: Pick<SourceStore, 'sourceCopyDigests'>; copies: BlobStore; gate: RwLock }) {
    this.#parts = parts;
  }

  /** Does nothing where it was done not long before. */
  async sweep(now: number): Promise<void> {
    if (now < this.#next) return;
    this.#next = now + SERVER_LIMITS.refreshLookMilliseconds;
    const { store, copies, gate } = this.#parts;
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
      if (now - since >= SERVER_LIMITS.keepCopyMilliseconds) old.push(digest);
    }
    if (old.length === 0) return;
    await gate.write(async () => {
      const still = await store.sourceCopyDigests();
      for (const digest of old) if (!still.has(digest)) await copies.delete(digest);
    });
  }
}
