import { type BlobStore, type CatalogHeader, catalogPieces, type EntrySize } from '@krmhub/catalog';
import { type Digest, KrmhubError, SNAPSHOT_RENDITIONS, type SnapshotRendition } from '@krmhub/schema';
import {
  type AssembledRenditions,
  type ByteWriter,
  type IsStored,
  type MergedEntry,
  PieceWriter,
  SYNTAXES,
  Writers,
  writeRenditions,
} from './assemble.js';

/** The previous snapshot, whose renditions are stored. */
export interface PreviousRenditions {
  header: CatalogHeader;
  digests: Record<SnapshotRendition, Digest>;
}

type Syntax = (typeof SYNTAXES)[number];
type Sizes = Pick<EntrySize, 'yamlBytes' | 'jsonBytes'>;
/** Consecutive entries. */
type Run = Sizes & { entries: number };

/** The previous renditions are missing, or differ from what was expected. */
class PreviousChanged extends Error {
  override readonly name = 'NotAsBefore';
}

/**
 * Writes every rendition of a catalog from those of the previous snapshot. Unchanged entries are copied byte for
 * byte, in long runs, without reading them from the store; the digest of the whole copied file is checked. Returns
 * undefined if the previous renditions cannot be used: then assemble all entries.
 */
export async function patchRenditions(
  blobs: BlobStore,
  header: CatalogHeader,
  previous: PreviousRenditions,
  rows: AsyncIterable<MergedEntry<EntrySize>>,
  options: { isStored?: IsStored<SnapshotRendition> } = {},
): Promise<AssembledRenditions | undefined> {
  const sources = await Promise.all(
    SYNTAXES.map(async (syntax) => ({
      syntax,
      blob: await blobs.read(previous.digests[`catalog${syntax}`]),
    })),
  );
  return undefinedIfChanged(
    writeRenditions(blobs, SNAPSHOT_RENDITIONS, options, async (writers) => {
      const patches = sources.map(({ syntax, blob }) => {
        if (blob === undefined) throw new PreviousChanged();
        return new Patch(syntax, { header, previous: previous.header, pieces: blob.pieces, writers });
      });
      try {
        return await patchEach(patches, rows);
      } finally {
        for (const patch of patches) await patch.close();
      }
    }),
  );
}

/** Returns the number of entries. */
async function patchEach(
  patches: readonly Patch[],
  rows: AsyncIterable<MergedEntry<EntrySize>>,
): Promise<number> {
  const each = async (work: (patch: Patch) => Promise<void>) => {
    // Waits for all, so that no patch still writes after a rejection.
    const done = await Promise.allSettled(patches.map(work));
    for (const one of done) if (one.status === 'rejected') throw one.reason;
  };
  let functions = 0;
  let pending = emptyRun();
  const copyPending = async () => {
    const run = pending;
    pending = emptyRun();
    await each((patch) => patch.copyEntry(run));
  };
  for await (const { current, entry } of rows) {
    if (entry !== 'none') functions += 1;
    if (entry === undefined) {
      pending.entries += 1;
      pending.yamlBytes += current.yamlBytes;
      pending.jsonBytes += current.jsonBytes;
      continue;
    }
    await copyPending();
    await each((patch) => (current === undefined ? patch.add(entry) : patch.drop(current)));
  }
  await copyPending();
  await each((patch) => patch.end());
  return functions;
}

function emptyRun(): Run {
  return { entries: 0, yamlBytes: 0, jsonBytes: 0 };
}

/** Writes a rendition from the one that differs only in its head. Returns undefined if that is missing or damaged. */
export async function deriveRendition(
  blobs: BlobStore,
  rendition: SnapshotRendition,
  { header, digests, functions }: PreviousRenditions & { functions: number },
): Promise<AssembledRenditions | undefined> {
  const twin = SNAPSHOT_RENDITIONS.find(
    (one) => one !== rendition && syntaxBytes(one) === syntaxBytes(rendition),
  );
  const blob = twin && (await blobs.read(digests[twin]));
  if (twin === undefined || blob === undefined || functions === 0) return undefined;
  return undefinedIfChanged(
    writeRenditions(blobs, [rendition], {}, async (writers) => {
      const bytes = new ByteCursor(blob.pieces);
      try {
        const before = catalogPieces(twin, header).entry(EMPTY_ENTRY);
        if ((await bytes.text(Buffer.byteLength(before))) !== before) throw new PreviousChanged();
        const writer = new PieceWriter(writers[rendition]);
        await writer.write(catalogPieces(rendition, header).entry(EMPTY_ENTRY));
        await bytes.copyRest(writer);
        await writer.flush();
      } finally {
        await bytes.close();
      }
      return functions;
    }),
  );
}

/** Resolves with undefined if a rendition to copy from changed or is damaged. */
async function undefinedIfChanged<Forms>(written: Promise<Forms>): Promise<Forms | undefined> {
  try {
    return await written;
  } catch (error) {
    if (error instanceof PreviousChanged || isDamaged(error)) return undefined;
    throw error;
  }
}

/** Writes the two renditions of one syntax, which differ only in their heads. */
class Patch {
  readonly #syntax: Syntax;
  readonly #bytes: ByteCursor;
  readonly #heads: { writer: PieceWriter; pieces: ReturnType<typeof catalogPieces> }[];
  readonly #tail: PieceWriter;
  readonly #headBefore: string;
  readonly #between: string;
  readonly #end: string;
  #entriesRead = 0;
  #entriesWritten = 0;

  constructor(
    syntax: Syntax,
    parts: {
      header: CatalogHeader;
      previous: CatalogHeader;
      pieces: AsyncIterable<Uint8Array>;
      writers: Record<SnapshotRendition, ByteWriter>;
    },
  ) {
    const { header, previous, pieces, writers } = parts;
    this.#syntax = syntax;
    this.#bytes = new ByteCursor(pieces);
    const renditions = SNAPSHOT_RENDITIONS.filter((rendition) => syntaxBytes(rendition) === syntax);
    this.#heads = renditions.map((rendition) => ({
      writer: new PieceWriter(writers[rendition]),
      pieces: catalogPieces(rendition, header),
    }));
    this.#tail = new PieceWriter(new Writers(renditions.map((rendition) => writers[rendition])));
    const before = catalogPieces(`catalog${syntax}`, previous);
    this.#headBefore = before.entry(EMPTY_ENTRY);
    this.#between = before.entry(EMPTY_ENTRY);
    this.#end = before.end();
  }

  /** Copies the next entries. `run` has their sizes. */
  async copyEntry(run: Run): Promise<void> {
    if (run.entries === 0) return;
    await this.#readLead();
    await this.#writeLead();
    const between = (run.entries - 1) * this.#between.length;
    await this.#bytes.copy(this.#entrySize(run) + between, this.#tail);
    this.#entriesRead += run.entries;
    this.#entriesWritten += run.entries;
  }

  /** Skips the next entry. */
  async drop(entry: Sizes): Promise<void> {
    await this.#readLead();
    await this.#bytes.copy(this.#entrySize(entry));
    this.#entriesRead += 1;
  }

  async add({ yaml, json }: { yaml: string; json: string }): Promise<void> {
    await this.#writeLead();
    await this.#tail.write(this.#syntax === '.yaml' ? yaml : json);
    this.#entriesWritten += 1;
  }

  /** Throws for a catalog without entries, which is written differently. */
  async end(): Promise<void> {
    if (this.#entriesRead === 0 || this.#entriesWritten === 0) throw new PreviousChanged();
    if ((await this.#bytes.rest()) !== this.#end) throw new PreviousChanged();
    await this.#tail.write(this.#end);
    await this.#tail.flush();
  }

  /** Call it after an error too. */
  close(): Promise<void> {
    return this.#bytes.close();
  }

  async #readLead(): Promise<void> {
    const expected = this.#entriesRead === 0 ? this.#headBefore : this.#between;
    if ((await this.#bytes.text(Buffer.byteLength(expected))) !== expected) throw new PreviousChanged();
  }

  async #writeLead(): Promise<void> {
    if (this.#entriesWritten > 0) {
      await this.#tail.write(this.#between);
      return;
    }
    for (const { writer, pieces } of this.#heads) {
      await writer.write(pieces.entry(EMPTY_ENTRY));
      await writer.flush();
    }
  }

  #entrySize({ yamlBytes, jsonBytes }: Sizes): number {
    return this.#syntax === '.yaml' ? yamlBytes : jsonBytes;
  }
}

function syntaxBytes(rendition: SnapshotRendition): Syntax {
  return rendition.endsWith('.yaml') ? '.yaml' : '.json';
}

/** An entry without text, to render only what surrounds entries. */
const EMPTY_ENTRY = { yaml: '', json: '' };
/** Largest size of the text after the last entry. */
const MAX_REST_BYTES = 1_024;

/** Reads a stream of byte pieces. */
class ByteCursor {
  readonly #pieces: AsyncIterator<Uint8Array>;
  #piece: Uint8Array = new Uint8Array();

  constructor(pieces: AsyncIterable<Uint8Array>) {
    this.#pieces = pieces[Symbol.asyncIterator]();
  }

  /** Copies the next bytes to the writer, or skips them. */
  async copy(bytes: number, writer?: PieceWriter): Promise<void> {
    for (let left = bytes; left > 0; ) {
      if (this.#piece.byteLength === 0 && !(await this.#next())) throw new PreviousChanged();
      const taken = this.#piece.subarray(0, left);
      this.#piece = this.#piece.subarray(taken.byteLength);
      left -= taken.byteLength;
      await writer?.writeBytes(taken);
    }
  }

  /** Copies the rest, to the end, where the stream checks the digest of the whole. */
  async copyRest(writer: PieceWriter): Promise<void> {
    do {
      await writer.writeBytes(this.#piece);
    } while (await this.#next());
  }

  async text(bytes: number): Promise<string> {
    const taken: Uint8Array[] = [];
    for (let left = bytes; left > 0; left -= taken.at(-1)!.byteLength) {
      if (this.#piece.byteLength === 0 && !(await this.#next())) throw new PreviousChanged();
      taken.push(this.#piece.subarray(0, left));
      this.#piece = this.#piece.subarray(taken.at(-1)!.byteLength);
    }
    return Buffer.concat(taken).toString();
  }

  /** Returns the rest as text. It reads to the end, where the stream checks the digest of the whole. */
  async rest(): Promise<string> {
    const taken = [this.#piece];
    let size = this.#piece.byteLength;
    while (await this.#next()) {
      size += this.#piece.byteLength;
      if (size > MAX_REST_BYTES) throw new PreviousChanged();
      taken.push(this.#piece);
    }
    return Buffer.concat(taken).toString();
  }

  async close(): Promise<void> {
    await this.#pieces.return?.();
  }

  async #next(): Promise<boolean> {
    const { value, done } = await this.#pieces.next();
    if (done === true) return false;
    this.#piece = value;
    return true;
  }
}

/** Reports whether the bytes do not match their digest, or were deleted meanwhile. */
function isDamaged(error: unknown): boolean {
  if (!(error instanceof KrmhubError)) return false;
  const { cause } = error as { cause?: { code?: unknown } };
  return error.code === 'internal' || cause?.code === 'ENOENT';
}
