import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import {
  type CatalogReader,
  type CatalogSyntax,
  catalogFrame,
  type EntryReader,
  type SegmentReader,
  type SnapshotRecord,
} from '@krmhub/catalog';
import { type Digest, KrmhubError, SNAPSHOT_RENDITIONS, type SnapshotRendition } from '@krmhub/schema';
import { LRUCache } from 'lru-cache';
import { BytesCache } from '../../http/bytes-cache.js';
import type { Body } from '../../http/bytes-response.js';
import { CODINGS, type Coding } from '../../http/content-coding.js';
import { SERVER_LIMITS } from '../../limits.js';
import { shareWork } from '../../workers/locks/shared-work.js';
import { catalogHeader } from '../catalog-header.js';
import { brotliDocument } from './brotli.js';
import { gunzip } from './gzip.js';
import { gzipPieces, gzipSize } from './gzip-document.js';
import { renditionSyntax } from './syntax-hashes.js';

/** Bytes that are hashed before other work runs: less than a millisecond. */
const STEP_BYTES = 262_144;
/** Old snapshots whose sizes are remembered. */
const MAX_SIZES = 1_000;

export interface CodedDocument {
  coding: Coding;
  body: Body;
}

type DocumentStore = CatalogReader & EntryReader & SegmentReader;

/**
 * The documents of snapshots in content codings. Uncompressed, a document is its entries, which are stored once for all
 * snapshots. In gzip, it is its segments, which only the newest snapshot of a catalog has. Small documents are cached
 * as a whole, decompressed from the segments if there are any, and compressed with brotli on the first request.
 */
export class CatalogDocuments {
  readonly #store: DocumentStore;
  readonly #cache: BytesCache;
  readonly #maxBytesInMemory: number;
  readonly #maxBrotliBytes: number;
  readonly #sizes = new LRUCache<Digest, number>({ max: MAX_SIZES });
  readonly #inProgress = new Map<string, Promise<Uint8Array>>();
  /** Counts takedowns: bytes that were read before one are not cached. */
  #cleared = 0;

  constructor(deps: { store: DocumentStore; maxCacheBytes?: number; maxBrotliBytes?: number }) {
    const { maxCacheBytes = SERVER_LIMITS.maxDocumentCacheBytes } = deps;
    this.#store = deps.store;
    this.#cache = new BytesCache(maxCacheBytes);
    this.#maxBytesInMemory = maxCacheBytes / 2;
    this.#maxBrotliBytes = deps.maxBrotliBytes ?? SERVER_LIMITS.maxBrotliBytes;
  }

  /** Returns the codings in which a document of this snapshot exists, in order of preference. */
  codings({ documents }: SnapshotRecord, rendition: SnapshotRendition): readonly Coding[] {
    if (documents === undefined) return IDENTITY_ONLY;
    const { bytes } = documents[rendition];
    return bytes <= Math.min(this.#maxBrotliBytes, this.#maxBytesInMemory) ? CODINGS : WITHOUT_BROTLI;
  }

  /** Returns cached bytes by `cacheKey`. */
  inMemory(key: string): Uint8Array | undefined {
    return this.#cache.get(key);
  }

  /**
   * Returns a document in a coding, or uncompressed if it does not exist in this one. A body without the digest of the
   * snapshot fails before its end.
   */
  async find(snapshot: SnapshotRecord, rendition: SnapshotRendition, coding: Coding): Promise<CodedDocument> {
    const key = cacheKey(snapshot.digests[rendition], coding);
    const cached = this.#cache.get(key);
    if (cached !== undefined) return { coding, body: cached };
    if (coding === 'br' && this.codings(snapshot, rendition).includes('br')) {
      return { coding, body: await this.#once(key, () => this.#brotli(snapshot, rendition)) };
    }
    if (coding === 'gzip') {
      const body = await this.#gzip(snapshot, rendition);
      if (body !== undefined) return { coding, body };
    }
    return { coding: 'identity', body: await this.#identity(snapshot, rendition) };
  }

  /** Forgets all bytes. Call it after a takedown. */
  clear(): void {
    this.#cleared += 1;
    this.#cache.clear();
  }

  async #identity(snapshot: SnapshotRecord, rendition: SnapshotRendition): Promise<Body> {
    const key = cacheKey(snapshot.digests[rendition], 'identity');
    const size = await this.#size(snapshot, rendition);
    const stream = { size, pieces: this.#verifiedPieces(snapshot, rendition) };
    if (size > this.#maxBytesInMemory) return stream;
    return this.#once(
      key,
      async () => (await this.#decompressed(snapshot, rendition, size)) ?? readAll(stream),
    );
  }

  /** Returns a document from its segments, of which there are fewer than of entries; undefined without intact ones. */
  async #decompressed(
    snapshot: SnapshotRecord,
    rendition: SnapshotRendition,
    size: number,
  ): Promise<Uint8Array | undefined> {
    const compressed = await this.#gzip(snapshot, rendition);
    if (!(compressed instanceof Uint8Array)) return undefined;
    const bytes = await gunzip(compressed, size).catch(() => undefined);
    return bytes && (await sha256InSteps(bytes)) === snapshot.digests[rendition] ? bytes : undefined;
  }

  async #brotli(snapshot: SnapshotRecord, rendition: SnapshotRendition): Promise<Uint8Array> {
    const plain = await this.#identity(snapshot, rendition);
    return brotliDocument(plain instanceof Uint8Array ? plain : await readAll(plain));
  }

  async #gzip(snapshot: SnapshotRecord, rendition: SnapshotRendition): Promise<Body | undefined> {
    const key = cacheKey(snapshot.digests[rendition], 'gzip');
    const cached = this.#cache.get(key);
    if (cached !== undefined) return cached;
    const facts = snapshot.documents?.[rendition];
    if (facts === undefined) return undefined;
    const segments = await this.#store.segments(snapshot.catalog, snapshot.serial);
    // Segments of older snapshots are not stored, and a takedown may have deleted some.
    if (segments === undefined || (segments.length === 0 && snapshot.functions > 0)) return undefined;
    // After the segments: it withdraws the snapshot in the same transaction.
    if ((await this.#store.snapshot(snapshot.catalog, snapshot.serial))?.withdrawn !== undefined)
      return undefined;
    const frame = catalogFrame(rendition, catalogHeader(snapshot));
    const syntax = renditionSyntax(rendition);
    const remake = { store: this.#store, snapshot };
    const stream = {
      size: gzipSize(frame, segments, syntax),
      pieces: gzipPieces(remake, { frame, segments, syntax, facts }),
    };
    return stream.size > this.#maxBytesInMemory ? stream : this.#once(key, () => readAll(stream));
  }

  /** Reads bytes for the cache. Concurrent callers share the work. */
  async #once(key: string, read: () => Promise<Uint8Array>): Promise<Uint8Array> {
    const known = this.#cache.get(key);
    if (known !== undefined) return known;
    return shareWork(this.#inProgress, key, async () => {
      const cleared = this.#cleared;
      const bytes = await read();
      if (cleared === this.#cleared) this.#cache.set(key, bytes);
      return bytes;
    });
  }

  async #size(snapshot: SnapshotRecord, rendition: SnapshotRendition): Promise<number> {
    const digest = snapshot.digests[rendition];
    const known = snapshot.documents?.[rendition].bytes ?? this.#sizes.get(digest);
    if (known !== undefined) return known;
    const sum = await this.#store.entryBytes(snapshot.catalog, snapshot.serial);
    for (const one of SNAPSHOT_RENDITIONS) {
      const frame = catalogFrame(one, catalogHeader(snapshot));
      const around =
        snapshot.functions === 0
          ? Buffer.byteLength(frame.empty)
          : Buffer.byteLength(frame.head) +
            (snapshot.functions - 1) * Buffer.byteLength(frame.between) +
            Buffer.byteLength(frame.end);
      this.#sizes.set(snapshot.digests[one], around + sum[renditionSyntax(one)]);
    }
    return this.#sizes.get(digest)!;
  }

  /** Yields the document. The last piece is yielded only after the digest of the whole is verified. */
  async *#verifiedPieces(snapshot: SnapshotRecord, rendition: SnapshotRendition): AsyncIterable<Uint8Array> {
    const hash = createHash('sha256');
    let heldBack: Uint8Array | undefined;
    for await (const piece of plainPieces(this.#store, snapshot, rendition)) {
      hash.update(piece);
      if (heldBack !== undefined) yield heldBack;
      heldBack = piece;
    }
    const digest = `sha256:${hash.digest('hex')}`;
    if (digest !== snapshot.digests[rendition]) {
      const { catalog, serial } = snapshot;
      // A takedown has deleted entries since the caller read the snapshot.
      if ((await this.#store.snapshot(catalog, serial))?.withdrawn !== undefined) {
        throw new KrmhubError(
          'unavailable',
          `snapshot ${serial} of catalog ${catalog} was withdrawn just now`,
          {
            hint: 'Try again in a few seconds.',
          },
        );
      }
      throw new KrmhubError(
        'internal',
        `${rendition} of snapshot ${serial} of catalog ${catalog} has digest ${digest}, expected ${snapshot.digests[rendition]}`,
        { hint: 'Find the damage with `krmhub fsck`, and restore the database from a backup.' },
      );
    }
    if (heldBack !== undefined) yield heldBack;
  }
}

type Stream = Exclude<Body, Uint8Array>;

const IDENTITY_ONLY: readonly Coding[] = ['identity'];
const WITHOUT_BROTLI: readonly Coding[] = CODINGS.filter((coding) => coding !== 'br');

/** Yields a document from its entries, several at a time. */
async function* plainPieces(
  store: EntryReader,
  snapshot: SnapshotRecord,
  rendition: SnapshotRendition,
): AsyncIterable<Uint8Array> {
  const { catalog, serial } = snapshot;
  const frame = catalogFrame(rendition, catalogHeader(snapshot));
  const syntax: CatalogSyntax = renditionSyntax(rendition);
  const between = Buffer.from(frame.between);
  let lead: Uint8Array = Buffer.from(frame.head);
  let isEmpty = true;
  for await (const texts of store.entryPages(catalog, serial, syntax)) {
    isEmpty = false;
    yield Buffer.concat(texts.flatMap((text, index) => [index === 0 ? lead : between, text]));
    lead = between;
  }
  yield Buffer.from(isEmpty ? frame.empty : frame.end);
}

async function sha256InSteps(bytes: Uint8Array): Promise<Digest> {
  const hash = createHash('sha256');
  for (let at = 0; at < bytes.byteLength; at += STEP_BYTES) {
    hash.update(bytes.subarray(at, at + STEP_BYTES));
    await setImmediate();
  }
  return `sha256:${hash.digest('hex')}`;
}

async function readAll({ pieces }: Stream): Promise<Uint8Array> {
  const read: Uint8Array[] = [];
  for await (const piece of pieces) read.push(piece);
  return Buffer.concat(read);
}

/** Returns the key of cached bytes. Callers on the hot path keep it. */
export function cacheKey(digest: Digest, coding: Coding): string {
  return `${digest}-${coding}`;
}
