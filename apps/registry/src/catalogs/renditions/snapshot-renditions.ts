import type {
  BlobStore,
  CatalogHeader,
  EntrySize,
  RenderedEntry,
  SnapshotRecord,
  SnapshotStore,
} from '@krmhub/catalog';
import { type Digest, KrmhubError, SNAPSHOT_RENDITIONS, type SnapshotRendition } from '@krmhub/schema';
import { BytesCache } from '../../http/bytes-cache.js';
import type { Body } from '../../http/bytes-response.js';
import type { Coding } from '../../http/content-coding.js';
import { SERVER_LIMITS } from '../../limits.js';
import type { RenditionStore } from '../../store/rendition-store.js';
import { type AssembledRenditions, assembleRenditions, type MergedEntry, storedEntries } from './assemble.js';
import { compressBlob } from './compress.js';
import { deriveRendition, type PreviousRenditions, patchRenditions } from './patch.js';

const COMPRESSED = ['gzip', 'br'] as const satisfies readonly Coding[];

/**
 * The renditions of snapshots in every content coding. A build writes and stores them. Small ones are compressed
 * before the snapshot is served, large ones soon after. Renditions of old snapshots are evicted, and regenerated from
 * the stored entries on request.
 */
export class SnapshotRenditions {
  readonly #store: SnapshotStore & RenditionStore;
  readonly #blobs: BlobStore;
  readonly #cache: BytesCache;
  readonly #maxBytesInMemory: number;
  readonly #maxBytesCompressedFirst: number;
  readonly #maxRegeneratedBytes: number;
  readonly #inProgress = new Map<Digest, Promise<void>>();
  /** Regenerated renditions of old snapshots with their sizes in bytes, the oldest first. */
  readonly #regenerated = new Map<Digest, number>();

  constructor(deps: {
    store: SnapshotStore & RenditionStore;
    blobs: BlobStore;
    maxCacheBytes?: number;
    maxCompressedFirstBytes?: number;
    maxRegeneratedBytes?: number;
  }) {
    const { maxCacheBytes = SERVER_LIMITS.maxRenditionCacheBytes } = deps;
    const { maxCompressedFirstBytes = SERVER_LIMITS.maxCompressedFirstBytes } = deps;
    this.#store = deps.store;
    this.#blobs = deps.blobs;
    this.#cache = new BytesCache(maxCacheBytes);
    this.#maxBytesInMemory = maxCacheBytes / 2;
    this.#maxBytesCompressedFirst = maxCompressedFirstBytes;
    this.#maxRegeneratedBytes = deps.maxRegeneratedBytes ?? SERVER_LIMITS.maxRegeneratedBytes;
  }

  /**
   * For a large catalog, renditions that differ from another one only in their heads are made during compression or
   * on request: few clients read them, so the build does not wait for them.
   */
  readonly #isStored = (rendition: SnapshotRendition, bytes: number): boolean =>
    rendition === 'catalog.yaml' || rendition === 'catalog.json' || bytes <= this.#maxBytesCompressedFirst;

  /** Writes every rendition of a catalog. `store` stores them. */
  assemble(
    header: { name: string; labels?: Record<string, string> },
    entries: AsyncIterable<RenderedEntry>,
  ): Promise<AssembledRenditions> {
    return assembleRenditions(this.#blobs, SNAPSHOT_RENDITIONS, header, entries, {
      isStored: this.#isStored,
    });
  }

  /** Writes them from the renditions of the previous snapshot. Returns undefined if those cannot be used. */
  patch(
    header: CatalogHeader,
    previous: SnapshotRecord,
    rows: AsyncIterable<MergedEntry<EntrySize>>,
  ): Promise<AssembledRenditions | undefined> {
    return patchRenditions(this.#blobs, header, readPreviousRenditions(previous), rows, {
      isStored: this.#isStored,
    });
  }

  /** Stores the renditions of a new snapshot. They are durable when it resolves. */
  async store(assembled: AssembledRenditions): Promise<void> {
    const stored = await assembled.commit();
    const { digests, sizes } = assembled;
    await this.#store.recordRenditions(
      stored.map((rendition) => ({
        digest: digests[rendition],
        coding: 'identity',
        blob: digests[rendition],
      })),
    );
    for (const rendition of SNAPSHOT_RENDITIONS) {
      if (sizes[rendition] <= this.#maxBytesCompressedFirst) await this.#compress(digests[rendition]);
    }
  }

  /**
   * Compresses the renditions of a snapshot that are not compressed yet. Rejects with an AbortError after `signal`.
   */
  async compress(snapshot: SnapshotRecord, signal: AbortSignal): Promise<void> {
    for (const rendition of SNAPSHOT_RENDITIONS) {
      signal.throwIfAborted();
      const stored = await this.#store.renditionBlob(snapshot.digests[rendition], 'identity');
      if (stored === undefined) await this.#regenerateOnce(snapshot, rendition);
      await this.#compress(snapshot.digests[rendition], signal);
    }
  }

  /**
   * Returns a rendition in a coding, or uncompressed if it is not stored in this one. Rejects if it can neither be
   * read nor regenerated with the same digest.
   */
  async find(
    snapshot: SnapshotRecord,
    rendition: SnapshotRendition,
    coding: Coding,
  ): Promise<StoredRendition> {
    return (
      (await this.findStored(snapshot.digests[rendition], coding)) ??
      (await this.#regenerate(snapshot, rendition))
    );
  }

  /** Returns stored bytes in a coding or uncompressed; undefined if they are not stored. */
  async findStored(digest: Digest, coding: Coding): Promise<StoredRendition | undefined> {
    return (
      (await this.#read(digest, coding)) ??
      (coding === 'identity' ? undefined : await this.#read(digest, 'identity'))
    );
  }

  /** Records durable bytes next to the renditions, also in every coding if `compressed`. */
  async cacheAlongside(digest: Digest, { compressed }: { compressed: boolean }): Promise<void> {
    await this.#store.recordRenditions([{ digest, coding: 'identity', blob: digest }]);
    if (compressed) await this.#compress(digest);
  }

  /** Returns cached bytes by `cacheKey`. */
  inMemory(name: string): Uint8Array | undefined {
    return this.#cache.get(name);
  }

  /** Deletes renditions of old snapshots, except those that the `kept` snapshots share. */
  async evict(old: readonly SnapshotRecord[], kept: readonly SnapshotRecord[]): Promise<void> {
    const needed = new Set(kept.flatMap((snapshot) => Object.values(snapshot.digests)));
    const digests = old
      .flatMap((snapshot) => Object.values(snapshot.digests))
      .filter((one) => !needed.has(one));
    if (digests.length === 0) return;
    const blobs = [
      ...(await this.#store.deleteProfileRenditions([...new Set(digests)])),
      ...(await this.#store.deleteRenditions([...new Set(digests)])),
    ];
    for (const blob of blobs) await this.#blobs.delete(blob);
  }

  /** Deletes every rendition that only withdrawn snapshots and purged catalogs have. Call it while no build or compression runs. */
  async deleteWithdrawn(): Promise<void> {
    await Promise.allSettled(this.#inProgress.values());
    this.#cache.clear();
    const named = await this.#store.deleteWithdrawnRenditions();
    for await (const blob of this.#blobs.list()) if (!named.has(blob)) await this.#blobs.delete(blob);
  }

  async #compress(digest: Digest, signal?: AbortSignal): Promise<void> {
    for (const coding of COMPRESSED) {
      const known = await this.#store.renditionBlob(digest, coding);
      // If it was evicted meanwhile, the row may still name a deleted blob.
      if (known !== undefined && (await this.#blobs.read(known)) !== undefined) continue;
      const blob = await compressBlob(this.#blobs, digest, coding, signal);
      if (blob !== undefined) await this.#store.recordRenditions([{ digest, coding, blob }]);
    }
  }

  async #read(digest: Digest, coding: Coding): Promise<StoredRendition | undefined> {
    const name = cacheKey(digest, coding);
    const cached = this.#cache.get(name);
    if (cached !== undefined) return { coding, body: cached };
    const blob = await this.#store.renditionBlob(digest, coding);
    // If it is evicted just now, the row may still name a deleted blob.
    const stored = blob === undefined ? undefined : await this.#blobs.read(blob);
    if (stored === undefined) return undefined;
    if (stored.size > this.#maxBytesInMemory) return { coding, body: stored };
    const bytes = await readAll(stored.pieces);
    if (bytes === undefined) return undefined;
    this.#cache.set(name, bytes);
    return { coding, body: bytes };
  }

  /**
   * Concurrent callers share the work. Each build evicts renditions of old snapshots, so it may take several
   * attempts.
   */
  async #regenerate(snapshot: SnapshotRecord, rendition: SnapshotRendition): Promise<StoredRendition> {
    const digest = snapshot.digests[rendition];
    for (let attempt = 0; attempt < SERVER_LIMITS.planAttempts; attempt++) {
      await this.#regenerateOnce(snapshot, rendition);
      const made = await this.#read(digest, 'identity');
      if (made !== undefined) return made;
    }
    throw new KrmhubError(
      'unavailable',
      `snapshot ${snapshot.serial} of catalog ${snapshot.catalog} is being regenerated`,
      {
        hint: 'Try again in a few seconds.',
      },
    );
  }

  async #regenerateOnce(snapshot: SnapshotRecord, rendition: SnapshotRendition): Promise<void> {
    const digest = snapshot.digests[rendition];
    const making = this.#inProgress.get(digest) ?? this.#reassemble(snapshot, rendition);
    this.#inProgress.set(digest, making);
    try {
      await making;
    } finally {
      this.#inProgress.delete(digest);
    }
  }

  async #reassemble(snapshot: SnapshotRecord, rendition: SnapshotRendition): Promise<void> {
    const { functions } = snapshot;
    const derived = await deriveRendition(this.#blobs, rendition, {
      ...readPreviousRenditions(snapshot),
      functions,
    });
    const assembled = derived ?? (await this.#assembleFromEntries(snapshot, rendition));
    const digest = assembled.digests[rendition];
    if (digest !== snapshot.digests[rendition]) {
      await assembled.discard();
      throw new Error(
        `${rendition} of snapshot ${snapshot.serial} of catalog ${snapshot.catalog}: expected digest ${snapshot.digests[rendition]}, regenerated ${digest}`,
      );
    }
    await assembled.commit();
    await this.#store.recordRenditions([{ digest, coding: 'identity', blob: digest }]);
    await this.#trackRegenerated(digest, assembled.sizes[rendition]);
  }

  async #assembleFromEntries(
    snapshot: SnapshotRecord,
    rendition: SnapshotRendition,
  ): Promise<AssembledRenditions> {
    const rows = await this.#store.snapshotEntryRows(snapshot.catalog, snapshot.serial);
    const digests = rows.flatMap(({ entry }) => (entry === undefined ? [] : [entry]));
    const entries = storedEntries(this.#store, digests);
    return assembleRenditions<SnapshotRendition>(this.#blobs, [rendition], catalogHeader(snapshot), entries);
  }

  /** Limits the stored bytes of regenerated renditions: any client can request every rendition of every snapshot. */
  async #trackRegenerated(digest: Digest, size: number): Promise<void> {
    this.#regenerated.delete(digest);
    this.#regenerated.set(digest, size);
    const newest = new Set<Digest>();
    for (const catalog of await this.#store.catalogs()) {
      for (const one of Object.values(catalog.newest?.digests ?? {})) newest.add(one);
    }
    let bytes = [...this.#regenerated.values()].reduce((sum, one) => sum + one, 0);
    for (const [oldest, its] of this.#regenerated) {
      if (bytes <= this.#maxRegeneratedBytes || oldest === digest) return;
      this.#regenerated.delete(oldest);
      bytes -= its;
      // A catalog may have returned to an earlier state.
      if (newest.has(oldest)) continue;
      for (const blob of await this.#store.deleteRenditions([oldest])) await this.#blobs.delete(blob);
    }
  }
}

export interface StoredRendition {
  coding: Coding;
  body: Body;
}

/** Resolves with undefined if the blob was deleted before it was opened. */
async function readAll(pieces: AsyncIterable<Uint8Array>): Promise<Buffer | undefined> {
  const read: Uint8Array[] = [];
  try {
    for await (const piece of pieces) read.push(piece);
  } catch (error) {
    const { cause } = error as { cause?: { code?: unknown } };
    if (cause?.code === 'ENOENT') return undefined;
    throw error;
  }
  return Buffer.concat(read);
}

function readPreviousRenditions(snapshot: SnapshotRecord): PreviousRenditions {
  return { header: catalogHeader(snapshot), digests: snapshot.digests };
}

/** Returns what the head of every rendition of a snapshot contains. */
export function catalogHeader({ catalog, labels }: Pick<SnapshotRecord, 'catalog' | 'labels'>): {
  name: string;
  labels?: Record<string, string>;
} {
  return { name: catalog, ...(labels === undefined ? {} : { labels }) };
}

/** Returns the name of the rendition with this kind and syntax. */
export function selectRendition(
  kind: 'Catalog' | 'KRMFunctionCatalog',
  syntax: 'yaml' | 'json',
): SnapshotRendition {
  const rendition = SNAPSHOT_RENDITIONS.find((name) => name === `${kind.toLowerCase()}.${syntax}`);
  if (rendition === undefined) throw new RangeError(`${kind} has no rendition ${syntax}`);
  return rendition;
}

/** Returns the key of cached bytes. Callers on the hot path keep it. */
export function cacheKey(digest: Digest, coding: Coding): string {
  return `${digest}-${coding}`;
}
