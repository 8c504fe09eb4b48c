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

/** Writes forms of a catalog of entries in their order, all in one run; an entry is in memory only meanwhile. */
export async function assembleForms<Form extends SnapshotForm>(
  blobs: BlobStore,
  forms: readonly Form[],
  header: CatalogHeader,
  entries: AsyncIterable<RenderedEntry>,
): Promise<AssembledForms<Form>> {
  const written: { form: Form; piece: PieceWriter; writer: BlobWriter }[] = [];
  const discard = async () => {
    await Promise.all(written.map(({ writer }) => writer.discard()));
  };
  try {
    for (const form of forms) {
      const writer = await blobs.write();
      written.push({ form, writer, piece: new PieceWriter(writer) });
    }
    const documents = written.map(({ form, piece }) => ({ piece, pieces: catalogPieces(form, header) }));
    let functions = 0;
    for await (const entry of entries) {
      functions += 1;
      for (const { piece, pieces } of documents) await piece.write(pieces.entry(entry));
    }
    for (const { piece, pieces } of documents) {
      await piece.write(pieces.end());
      await piece.flush();
    }
    return {
      functions,
      digests: byForm(written.map(({ form, writer }) => [form, writer.digest()])),
      sizes: byForm(written.map(({ form, piece }) => [form, piece.size])),
      async commit() {
        try {
          for (const { writer } of written) await writer.commit();
        } catch (error) {
          await discard();
          throw error;
        }
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
  const takeChange = async (): Promise<RenderedEntry[]> => {
    const { entry: digest } = changes[at++]!;
    if (digest === undefined) return [];
    const entry = known.get(digest) ?? (await store.entries([digest])).get(digest);
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

/** Puts small pieces of text together before they are written. */
export class PieceWriter {
  readonly #writer: BlobWriter;
  #pending = '';
  size = 0;

  constructor(writer: BlobWriter) {
    this.#writer = writer;
  }

  async write(text: string): Promise<void> {
    this.#pending += text;
    if (this.#pending.length >= SERVER_LIMITS.formPieceCharacters) await this.flush();
  }

  async flush(): Promise<void> {
    const bytes = Buffer.from(this.#pending);
    this.#pending = '';
    this.size += bytes.byteLength;
    await this.#writer.write(bytes);
  }
}

function byForm<Form extends SnapshotForm, Value>(
  values: readonly (readonly [Form, Value])[],
): Record<Form, Value> {
  return Object.fromEntries(values) as Record<Form, Value>;
}
