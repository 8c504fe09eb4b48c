import {
  type CatalogHeader,
  type CatalogSyntax,
  catalogFrame,
  type DocumentFacts,
  type EntryTexts,
  type NameRange,
  type SnapshotRecord,
  type SnapshotStore,
} from '@krmhub/catalog';
import type { Digest, FunctionName, SnapshotRendition } from '@krmhub/schema';
import { joinTexts } from './gzip.js';
import { CheckpointHasher, type SyntaxHasher, type SyntaxPart } from './syntax-hasher.js';

/** Bytes of entries that are hashed in one step: a call for each entry would take longer than the hashing. */
const STEP_BYTES = 262_144;
const SYNTAXES: readonly CatalogSyntax[] = ['yaml', 'json'];

export interface HashedDocuments {
  functions: number;
  digests: Record<SnapshotRendition, Digest>;
  documents: Record<SnapshotRendition, DocumentFacts>;
}

/** Hashes the documents of catalogs. */
export class DocumentHasher {
  readonly #hashers: Record<CatalogSyntax, SyntaxHasher>;

  constructor(store: Pick<SnapshotStore, 'entryRuns'>) {
    this.#hashers = { yaml: new CheckpointHasher(store, 'yaml'), json: new CheckpointHasher(store, 'json') };
  }

  /**
   * Begins to hash the documents that follow a snapshot. `firstChange` is a function before which nothing changed;
   * absent if everything may have changed.
   */
  async begin(
    header: CatalogHeader,
    serial: number,
    previous: SnapshotRecord | undefined,
    firstChange: FunctionName | undefined,
  ): Promise<CatalogHashes> {
    const hashers = this.#hashers;
    const beginAt = (change: FunctionName | undefined) =>
      Promise.all(
        SYNTAXES.map((syntax) =>
          hashers[syntax].begin({
            header,
            serial,
            ...(previous === undefined ? {} : { previous: previous.digests[`catalog.${syntax}`] }),
            ...(change === undefined ? {} : { firstChange: change }),
          }),
        ),
      );
    const [from, other] = await beginAt(firstChange);
    if (from?.group === other?.group && from?.kind === other?.kind)
      return new CatalogHashes(hashers, header, from);
    await beginAt(undefined);
    return new CatalogHashes(hashers, header, undefined);
  }
}

/** The hashes of one catalog. Add its entries in order. */
export class CatalogHashes {
  /** The first entry to add; absent for the first of the catalog. */
  readonly from: FunctionName | undefined;
  readonly #hashers: Record<CatalogSyntax, SyntaxHasher>;
  readonly #header: CatalogHeader;
  #pending: EntryTexts[] = [];
  #pendingBytes = 0;

  constructor(
    hashers: Record<CatalogSyntax, SyntaxHasher>,
    header: CatalogHeader,
    from: FunctionName | undefined,
  ) {
    this.#hashers = hashers;
    this.#header = header;
    this.from = from;
  }

  async add(entry: EntryTexts): Promise<void> {
    this.#pending.push(entry);
    this.#pendingBytes += entry.yaml.byteLength + entry.json.byteLength;
    if (this.#pendingBytes >= STEP_BYTES) await this.#flush();
  }

  /** Adds stored entries, a range at a time. */
  async addStored(ranges: readonly NameRange[]): Promise<void> {
    await this.#flush();
    await this.#add(() => ({ stored: ranges }));
  }

  /** Call it once, after the last entry. */
  async end(): Promise<HashedDocuments> {
    await this.#flush();
    const { name } = this.#header;
    const ended = await Promise.all(SYNTAXES.map((syntax) => this.#hashers[syntax].end(name)));
    const documents = ended.flatMap((one) => one.documents);
    const byRendition = <Value>(value: (one: (typeof documents)[number]) => Value) =>
      Object.fromEntries(documents.map((one) => [one.rendition, value(one)])) as Record<
        SnapshotRendition,
        Value
      >;
    return {
      functions: ended[0]!.functions,
      digests: byRendition(({ digest }) => digest),
      documents: byRendition(({ facts }) => facts),
    };
  }

  async #flush(): Promise<void> {
    const pending = this.#pending;
    const [first] = pending;
    if (first === undefined) return;
    this.#pending = [];
    this.#pendingBytes = 0;
    await this.#add((syntax) => {
      const between = Buffer.from(catalogFrame(`catalog.${syntax}`, this.#header).between);
      const text = joinTexts(
        pending.map((entry) => entry[syntax]),
        between,
      );
      return { first: { group: first.group, kind: first.kind }, functions: pending.length, text };
    });
  }

  async #add(part: (syntax: CatalogSyntax) => SyntaxPart): Promise<void> {
    const { name } = this.#header;
    await Promise.all(SYNTAXES.map((syntax) => this.#hashers[syntax].add(name, part(syntax))));
  }
}
