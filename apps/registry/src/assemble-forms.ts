import {
  type BlobStore,
  type BlobWriter,
  type CatalogFunction,
  type CatalogHeader,
  type CatalogStore,
  catalogPieces,
  compareFunctionNames,
  type RenderedEntry,
} from '@krmhub/catalog';
import type { Digest, SnapshotForm } from '@krmhub/schema';
import { SERVER_LIMITS } from './limits.js';

/** Forms of a catalog that are written and not yet kept; either `commit` or `discard` ends them. */
export interface AssembledForms<Form extends SnapshotForm = SnapshotForm> {
  /** Number of entries. */
  functions: number;
  digests: Record<Form, Digest>;
  /** Bytes. */
  sizes: Record<Form, number>;
  /** Resolves once the forms survive a power cut. */
  commit(): Promise<void>;
  discard(): Promise<void>;
}

type ByteWriter = Pick<BlobWriter, 'write'>;

/** How names of forms end. */
const SYNTAXES = ['.yaml', '.json'];

/** Writes forms of a catalog of entries in their order, all in one run; an entry is in memory only meanwhile. */
export async function assembleForms<Form extends SnapshotForm>(
  blobs: BlobStore,
  forms: readonly Form[],
  header: CatalogHeader,
  entries: AsyncIterable<RenderedEntry>,
): Promise<AssembledForms<Form>> {
  const written: { form: Form; writer: BlobWriter; sized: SizedWriter }[] = [];
  const discard = async () => {
    await Promise.all(written.map(({ writer }) => writer.discard()));
  };
  try {
    for (const form of forms) {
      const writer = await blobs.write();
      written.push({ form, writer, sized: new SizedWriter(writer) });
    }
    const documents = written.map(({ form, sized }) => ({
      form,
      sized,
      piece: new PieceWriter(sized),
      pieces: catalogPieces(form, header),
    }));
    // After its first entry, a form goes on with the same bytes as every other in its syntax.
    const tails = SYNTAXES.flatMap((syntax) => {
      const alike = documents.filter(({ form }) => form.endsWith(syntax));
      const [first] = alike;
      if (first === undefined) return [];
      const piece = new PieceWriter(new Writers(alike.map(({ sized }) => sized)));
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
    return {
      functions,
      digests: byForm(written.map(({ form, writer }) => [form, writer.digest()])),
      sizes: byForm(written.map(({ form, sized }) => [form, sized.size])),
      async commit() {
        // All at once: each waits for the disk.
        const commits = await Promise.allSettled(written.map(({ writer }) => writer.commit()));
        const failed = commits.find((one) => one.status === 'rejected');
        if (failed === undefined) return;
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

/** The entries that a catalog will hold after changes of places; those in `known` are not read. */
export async function* changedEntries(
  store: CatalogStore,
  name: string,
  changed: readonly CatalogFunction[],
  known: ReadonlyMap<Digest, RenderedEntry>,
): AsyncIterable<RenderedEntry> {
  const changes = [...changed].sort(compareFunctionNames);
  let at = 0;
  let read: ReadonlyMap<Digest, RenderedEntry> = new Map();
  const takeChange = async (): Promise<RenderedEntry[]> => {
    const { entry: digest } = changes[at]!;
    if (digest !== undefined && !known.has(digest) && !read.has(digest)) {
      const next = changes.slice(at, at + SERVER_LIMITS.cutBatch).flatMap(({ entry }) => entry ?? []);
      read = await store.entries(next.filter((one) => !known.has(one)));
    }
    at += 1;
    if (digest === undefined) return [];
    const entry = known.get(digest) ?? read.get(digest);
    if (entry === undefined) throw new Error(`the store has no entry ${digest}`);
    return [entry];
  };
  for await (const held of store.heldEntries(name)) {
    while (at < changes.length && compareFunctionNames(changes[at]!, held) < 0) yield* await takeChange();
    if (at < changes.length && compareFunctionNames(changes[at]!, held) === 0) yield* await takeChange();
    else yield held.entry;
  }
  while (at < changes.length) yield* await takeChange();
}

/** Rendered entries by their digests, in this order. */
export async function* storedEntries(
  store: CatalogStore,
  digests: readonly Digest[],
): AsyncIterable<RenderedEntry> {
  for (let start = 0; start < digests.length; start += SERVER_LIMITS.cutBatch) {
    const batch = digests.slice(start, start + SERVER_LIMITS.cutBatch);
    const entries = await store.entries(batch);
    for (const digest of batch) {
      const entry = entries.get(digest);
      if (entry !== undefined) yield entry;
    }
  }
}

/** Puts small pieces of text together before they are written. What is written goes on while the next piece is made. */
export class PieceWriter {
  readonly #writer: ByteWriter;
  #pending = '';
  #last: Promise<void> = Promise.resolve();
  size = 0;

  constructor(writer: ByteWriter) {
    this.#writer = writer;
  }

  async write(text: string): Promise<void> {
    this.#pending += text;
    if (this.#pending.length >= SERVER_LIMITS.formPieceCharacters) await this.#begin();
  }

  /** Resolves once all of it is written. */
  async flush(): Promise<void> {
    await this.#begin();
    await this.#last;
  }

  async #begin(): Promise<void> {
    if (this.#pending === '') return;
    const bytes = Buffer.from(this.#pending);
    this.#pending = '';
    this.size += bytes.byteLength;
    await this.#last;
    this.#last = this.#writer.write(bytes);
    // Whoever writes next, or flushes, is told.
    this.#last.catch(() => undefined);
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

/** Several that get the same bytes. */
class Writers implements ByteWriter {
  readonly #writers: readonly ByteWriter[];

  constructor(writers: readonly ByteWriter[]) {
    this.#writers = writers;
  }

  async write(bytes: Uint8Array): Promise<void> {
    await Promise.all(this.#writers.map((writer) => writer.write(bytes)));
  }
}

function byForm<Form extends SnapshotForm, Value>(
  values: readonly (readonly [Form, Value])[],
): Record<Form, Value> {
  return Object.fromEntries(values) as Record<Form, Value>;
}
