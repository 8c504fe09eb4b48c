import { createHash } from 'node:crypto';
import {
  type BlobStore,
  type BlobWriter,
  type CatalogEntryRow,
  type CatalogHeader,
  catalogPieces,
  compareFunctionNames,
  type RenderedEntry,
  type SnapshotStore,
} from '@krmhub/catalog';
import type { Digest, FunctionName, SnapshotRendition } from '@krmhub/schema';
import { SERVER_LIMITS } from '../../limits.js';

/** Renditions that are written but not stored yet. Call either `commit` or `discard`. */
export interface AssembledRenditions<Rendition extends SnapshotRendition = SnapshotRendition> {
  /** Number of entries. */
  functions: number;
  digests: Record<Rendition, Digest>;
  /** Bytes. */
  sizes: Record<Rendition, number>;
  /** Resolves once the renditions are durable. Returns the stored ones. */
  commit(): Promise<Rendition[]>;
  discard(): Promise<void>;
}

export type ByteWriter = Pick<BlobWriter, 'write'>;

/** Suffixes of rendition names. */
export const SYNTAXES = ['.yaml', '.json'] as const;

/** Writes renditions of the entries, in their order, in one pass. Each entry is in memory only while it is written. */
export async function assembleRenditions<Rendition extends SnapshotRendition>(
  blobs: BlobStore,
  renditions: readonly Rendition[],
  header: CatalogHeader,
  entries: AsyncIterable<RenderedEntry>,
  options: { isStored?: IsStored<Rendition> } = {},
): Promise<AssembledRenditions<Rendition>> {
  return writeRenditions(blobs, renditions, options, async (writers) => {
    const documents = renditions.map((rendition) => ({
      rendition,
      piece: new PieceWriter(writers[rendition]),
      pieces: catalogPieces(rendition, header),
    }));
    // After the first entry, all renditions of one syntax have the same bytes.
    const tails = SYNTAXES.flatMap((syntax) => {
      const sameSyntax = documents.filter(({ rendition }) => rendition.endsWith(syntax));
      const [first] = sameSyntax;
      if (first === undefined) return [];
      const piece = new PieceWriter(new Writers(sameSyntax.map(({ rendition }) => writers[rendition])));
      return { pieces: first.pieces, piece };
    });
    let functions = 0;
    for await (const entry of entries) {
      functions += 1;
      if (functions > 1) {
        for (const { piece, pieces } of tails) await piece.write(pieces.entry(entry));
        continue;
      }
      for (const { piece, pieces } of documents) {
        await piece.write(pieces.entry(entry));
        await piece.flush();
      }
    }
    for (const { piece } of tails) await piece.flush();
    for (const { piece, pieces } of documents) {
      await piece.write(pieces.end());
      await piece.flush();
    }
    return functions;
  });
}

/** Reports whether a commit stores a rendition of this size. Of others, only the digest is computed. */
export type IsStored<Rendition extends SnapshotRendition> = (rendition: Rendition, bytes: number) => boolean;

/**
 * Passes `write` a writer for each rendition. `write` returns the number of entries; if it rejects, all is discarded.
 */
export async function writeRenditions<Rendition extends SnapshotRendition>(
  blobs: BlobStore,
  renditions: readonly Rendition[],
  { isStored = () => true }: { isStored?: IsStored<Rendition> },
  write: (writers: Record<Rendition, ByteWriter>) => Promise<number>,
): Promise<AssembledRenditions<Rendition>> {
  const written: { rendition: Rendition; writer: RenditionWriter; sized: SizedWriter }[] = [];
  const discard = async () => {
    await Promise.all(written.map(({ writer }) => writer.discard()));
  };
  try {
    for (const rendition of renditions) {
      const writer = isStored(rendition, Number.POSITIVE_INFINITY)
        ? await blobs.write()
        : new SmallWriter(blobs, (bytes) => isStored(rendition, bytes));
      written.push({ rendition, writer, sized: new SizedWriter(writer) });
    }
    const functions = await write(mapRenditions(written.map(({ rendition, sized }) => [rendition, sized])));
    return {
      functions,
      digests: mapRenditions(written.map(({ rendition, writer }) => [rendition, writer.digest()])),
      sizes: mapRenditions(written.map(({ rendition, sized }) => [rendition, sized.size])),
      async commit() {
        // In parallel: each commit waits for the disk.
        const commits = await Promise.allSettled(written.map(({ writer }) => writer.commit()));
        const failed = commits.find((one) => one.status === 'rejected');
        if (failed === undefined) {
          return renditions.filter(
            (_, at) => (commits[at] as PromiseFulfilledResult<unknown>).value !== undefined,
          );
        }
        await discard();
        throw failed.reason;
      },
      discard,
    };
  } catch (error) {
    await discard();
    throw error;
  }
}

/** Yields the entries of a catalog after the changes. Entries in `known` are not read. */
export async function* changedEntries(
  store: Pick<SnapshotStore, 'entries' | 'latestEntries'>,
  name: string,
  changed: readonly CatalogEntryRow[],
  known: ReadonlyMap<Digest, RenderedEntry>,
): AsyncIterable<RenderedEntry> {
  for await (const { current, entry } of mergeEntries(store, store.latestEntries(name), changed, known)) {
    if (current === undefined) yield entry;
    else if (entry === undefined) yield current.entry;
  }
}

/** A step of the merge of catalog entries with changes, in the order of the catalog. */
export type MergedEntry<Row> =
  /** The entry is unchanged. */
  | { current: Row; entry?: undefined }
  /** The entry is removed. */
  | { current: Row; entry: 'none' }
  /** The entry is added. */
  | { current?: undefined; entry: RenderedEntry };

/** Merges the entry rows of a catalog with changes. A changed entry is removed, then added. */
export async function* mergeEntries<Row extends FunctionName>(
  store: Pick<SnapshotStore, 'entries'>,
  rows: AsyncIterable<Row>,
  changed: readonly CatalogEntryRow[],
  known: ReadonlyMap<Digest, RenderedEntry>,
): AsyncIterable<MergedEntry<Row>> {
  const changes = [...changed].sort(compareFunctionNames);
  let at = 0;
  let read: ReadonlyMap<Digest, RenderedEntry> = new Map();
  const nextChange = async (): Promise<{ entry: RenderedEntry }[]> => {
    const { entry: digest } = changes[at]!;
    if (digest !== undefined && !known.has(digest) && !read.has(digest)) {
      const next = changes.slice(at, at + SERVER_LIMITS.buildBatch).flatMap(({ entry }) => entry ?? []);
      read = await store.entries(next.filter((one) => !known.has(one)));
    }
    at += 1;
    if (digest === undefined) return [];
    const entry = known.get(digest) ?? read.get(digest);
    if (entry === undefined) throw new Error(`the store has no entry ${digest}`);
    return [{ entry }];
  };
  for await (const current of rows) {
    while (at < changes.length && compareFunctionNames(changes[at]!, current) < 0) yield* await nextChange();
    if (at < changes.length && compareFunctionNames(changes[at]!, current) === 0) {
      yield { current, entry: 'none' };
      yield* await nextChange();
    } else yield { current };
  }
  while (at < changes.length) yield* await nextChange();
}

/** Yields rendered entries by digest, in this order. */
export async function* storedEntries(
  store: Pick<SnapshotStore, 'entries'>,
  digests: readonly Digest[],
): AsyncIterable<RenderedEntry> {
  for (let start = 0; start < digests.length; start += SERVER_LIMITS.buildBatch) {
    const batch = digests.slice(start, start + SERVER_LIMITS.buildBatch);
    const entries = await store.entries(batch);
    for (const digest of batch) {
      const entry = entries.get(digest);
      if (entry !== undefined) yield entry;
    }
  }
}

/** Joins small pieces before they are written, and writes one while the next is prepared. */
export class PieceWriter {
  readonly #writer: ByteWriter;
  #text = '';
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  #last: Promise<void> = Promise.resolve();
  size = 0;

  constructor(writer: ByteWriter) {
    this.#writer = writer;
  }

  async write(text: string): Promise<void> {
    this.#text += text;
    if (this.#text.length + this.#pendingBytes >= SERVER_LIMITS.renditionPieceCharacters) await this.#begin();
  }

  /** The caller must not change the bytes afterwards. */
  async writeBytes(bytes: Uint8Array): Promise<void> {
    this.#takeText();
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.byteLength;
    if (this.#pendingBytes >= SERVER_LIMITS.renditionPieceCharacters) await this.#begin();
  }

  /** Resolves once everything is written. */
  async flush(): Promise<void> {
    await this.#begin();
    await this.#last;
  }

  async #begin(): Promise<void> {
    this.#takeText();
    if (this.#pendingBytes === 0) return;
    const bytes = this.#pending.length === 1 ? this.#pending[0]! : Buffer.concat(this.#pending);
    this.#pending = [];
    this.#pendingBytes = 0;
    this.size += bytes.byteLength;
    await this.#last;
    this.#last = this.#writer.write(bytes);
    // The next write or flush reports the error.
    this.#last.catch(() => undefined);
  }

  #takeText(): void {
    if (this.#text === '') return;
    const bytes = Buffer.from(this.#text);
    this.#text = '';
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.byteLength;
  }
}

class SizedWriter implements ByteWriter {
  readonly #writer: ByteWriter;
  size = 0;

  constructor(writer: ByteWriter) {
    this.#writer = writer;
  }

  write(bytes: Uint8Array): Promise<void> {
    this.size += bytes.byteLength;
    return this.#writer.write(bytes);
  }
}

type RenditionWriter = Pick<BlobWriter, 'write' | 'digest' | 'discard'> & {
  commit(): Promise<Digest | undefined>;
};

/** Computes the digest, and stores the content only if it is small. */
class SmallWriter implements RenditionWriter {
  readonly #blobs: BlobStore;
  readonly #isStored: (bytes: number) => boolean;
  readonly #hash = createHash('sha256');
  #digest: Digest | undefined;
  #pieces: Uint8Array[] | undefined = [];
  #size = 0;

  constructor(blobs: BlobStore, isStored: (bytes: number) => boolean) {
    this.#blobs = blobs;
    this.#isStored = isStored;
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.#hash.update(bytes);
    this.#size += bytes.byteLength;
    if (this.#isStored(this.#size)) this.#pieces?.push(bytes);
    else this.#pieces = undefined;
  }

  digest(): Digest {
    this.#digest ??= `sha256:${this.#hash.digest('hex')}`;
    return this.#digest;
  }

  async commit(): Promise<Digest | undefined> {
    return this.#pieces && this.#blobs.put(Buffer.concat(this.#pieces));
  }

  async discard(): Promise<void> {
    this.#pieces = undefined;
  }
}

/** Passes the same bytes to several writers. */
export class Writers implements ByteWriter {
  readonly #writers: readonly ByteWriter[];

  constructor(writers: readonly ByteWriter[]) {
    this.#writers = writers;
  }

  async write(bytes: Uint8Array): Promise<void> {
    await Promise.all(this.#writers.map((writer) => writer.write(bytes)));
  }
}

function mapRenditions<Rendition extends SnapshotRendition, Value>(
  values: readonly (readonly [Rendition, Value])[],
): Record<Rendition, Value> {
  return Object.fromEntries(values) as Record<Rendition, Value>;
}
