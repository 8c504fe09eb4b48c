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
export interface AssembledRenditions<Form extends SnapshotRendition = SnapshotRendition> {
  /** Number of entries. */
  functions: number;
  digests: Record<Form, Digest>;
  /** Bytes. */
  sizes: Record<Form, number>;
  /** Resolves once the renditions are durable. Returns the stored ones. */
  commit(): Promise<Form[]>;
  discard(): Promise<void>;
}

export type ByteWriter = Pick<BlobWriter, 'write'>;

/** Suffixes of rendition names. */
export const SYNTAXES = ['.yaml', '.json'] as const;

/** Writes renditions of the entries, in their order, in one pass. Each entry is in memory only while it is written. */
export async function assembleRenditions<Form extends SnapshotRendition>(
  blobs: BlobStore,
  forms: readonly Form[],
  header: CatalogHeader,
  entries: AsyncIterable<RenderedEntry>,
  options: { isStored?: IsStored<Form> } = {},
): Promise<AssembledRenditions<Form>> {
  return writeRenditions(blobs, forms, options, async (writers) => {
    const documents = forms.map((form) => ({
      form,
      piece: new PieceWriter(writers[form]),
      pieces: catalogPieces(form, header),
    }));
    // After the first entry, all renditions of one syntax have the same bytes.
    const tails = SYNTAXES.flatMap((syntax) => {
      const alike = documents.filter(({ form }) => form.endsWith(syntax));
      const [first] = alike;
      if (first === undefined) return [];
      const piece = new PieceWriter(new Writers(alike.map(({ form }) => writers[form])));
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
export type IsStored<Form extends SnapshotRendition> = (form: Form, bytes: number) => boolean;

/**
 * Passes `write` a writer for each rendition. `write` returns the number of entries; if it rejects, all is discarded.
 */
export async function writeRenditions<Form extends SnapshotRendition>(
  blobs: BlobStore,
  forms: readonly Form[],
  { isStored = () => true }: { isStored?: IsStored<Form> },
  write: (writers: Record<Form, ByteWriter>) => Promise<number>,
): Promise<AssembledRenditions<Form>> {
  const written: { form: Form; writer: RenditionWriter; sized: SizedWriter }[] = [];
  const discard = async () => {
    await Promise.all(written.map(({ writer }) => writer.discard()));
  };
  try {
    for (const form of forms) {
      const writer = isStored(form, Number.POSITIVE_INFINITY)
        ? await blobs.write()
        : new SmallWriter(blobs, (bytes) => isStored(form, bytes));
      written.push({ form, writer, sized: new SizedWriter(writer) });
    }
    const functions = await write(mapRenditions(written.map(({ form, sized }) => [form, sized])));
    return {
      functions,
      digests: mapRenditions(written.map(({ form, writer }) => [form, writer.digest()])),
      sizes: mapRenditions(written.map(({ form, sized }) => [form, sized.size])),
      async commit() {
        // In parallel: each commit waits for the disk.
        const commits = await Promise.allSettled(written.map(({ writer }) => writer.commit()));
        const failed = commits.find((one) => one.status === 'rejected');
        if (failed === undefined) {
          return forms.filter(
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
  for await (const { held, entry } of mergeEntries(store, store.latestEntries(name), changed, known)) {
    if (held === undefined) yield entry;
    else if (entry === undefined) yield held.entry;
  }
}

/** A step of the merge of catalog entries with changes, in the order of the catalog. */
export type MergedEntry<Held> =
  /** The entry is unchanged. */
  | { held: Held; entry?: undefined }
  /** The entry is removed. */
  | { held: Held; entry: 'none' }
  /** The entry is added. */
  | { held?: undefined; entry: RenderedEntry };

/** Merges the entry rows of a catalog with changes. A changed entry is removed, then added. */
export async function* mergeEntries<Held extends FunctionName>(
  store: Pick<SnapshotStore, 'entries'>,
  places: AsyncIterable<Held>,
  changed: readonly CatalogEntryRow[],
  known: ReadonlyMap<Digest, RenderedEntry>,
): AsyncIterable<MergedEntry<Held>> {
  const changes = [...changed].sort(compareFunctionNames);
  let at = 0;
  let read: ReadonlyMap<Digest, RenderedEntry> = new Map();
  const takeChange = async (): Promise<{ entry: RenderedEntry }[]> => {
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
  for await (const held of places) {
    while (at < changes.length && compareFunctionNames(changes[at]!, held) < 0) yield* await takeChange();
    if (at < changes.length && compareFunctionNames(changes[at]!, held) === 0) {
      yield { held, entry: 'none' };
      yield* await takeChange();
    } else yield { held };
  }
  while (at < changes.length) yield* await takeChange();
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

function mapRenditions<Form extends SnapshotRendition, Value>(
  values: readonly (readonly [Form, Value])[],
): Record<Form, Value> {
  return Object.fromEntries(values) as Record<Form, Value>;
}
