import {
  type CatalogHeader,
  type CatalogSyntax,
  catalogFrame,
  type EntryTexts,
  type NameRange,
  type SnapshotStore,
} from '@krmhub/catalog';
import { type FunctionName, KrmhubError } from '@krmhub/schema';
import {
  CheckpointHasher,
  type HashedCatalog,
  type HashedDocuments,
  type HashedRun,
  type Hashes,
} from './checkpoint-hasher.js';
import { joinTexts } from './gzip.js';
import type { HasherThread } from './hasher-thread.js';

/** Bytes of entries that are hashed in one step: a call for each entry would take longer than the hashing. */
const STEP_BYTES = 262_144;

export interface LargeCatalogs {
  /** Functions of the smallest. */
  functions: number;
  /** Hashes their entries while this thread reads them. */
  thread: Pick<HasherThread, 'begin'>;
}

/** Reads the entries of catalogs, and hashes their documents. */
export class DocumentHasher {
  readonly #store: Pick<SnapshotStore, 'entryRuns'>;
  readonly #large: LargeCatalogs | undefined;
  readonly #hasher = new CheckpointHasher();

  constructor(store: Pick<SnapshotStore, 'entryRuns'>, large?: LargeCatalogs) {
    this.#store = store;
    this.#large = large;
  }

  /** Begins to hash documents. `serial` is that of the stored entries, `functions` about the size of the catalog. */
  async begin(catalog: HashedCatalog, { serial, functions }: { serial: number; functions: number }) {
    const hashes = await this.#begin(catalog, functions);
    return new CatalogHashes(this.#store, hashes, { header: catalog.header, serial });
  }

  async #begin(catalog: HashedCatalog, functions: number): Promise<Hashes> {
    const large = this.#large;
    if (large !== undefined && functions >= large.functions) {
      try {
        return await large.thread.begin(catalog);
      } catch (error) {
        // The other thread has just ended.
        if (!(error instanceof KrmhubError) || error.code !== 'unavailable') throw error;
      }
    }
    const running = this.#hasher.begin(catalog);
    return {
      // Memory that is freed later costs more than a call.
      stepBytes: 0,
      from: running.from,
      add: async (runs) => running.add(runs),
      end: async () => running.end(),
    };
  }
}

/** The hashes of one catalog. Add its entries in order. */
export class CatalogHashes {
  /** The first entry to add; absent for the first of the catalog. */
  readonly from: FunctionName | undefined;
  readonly #store: Pick<SnapshotStore, 'entryRuns'>;
  readonly #hashes: Hashes;
  readonly #header: CatalogHeader;
  readonly #serial: number;
  #pending: EntryTexts[] = [];
  #pendingBytes = 0;

  constructor(
    store: Pick<SnapshotStore, 'entryRuns'>,
    hashes: Hashes,
    { header, serial }: { header: CatalogHeader; serial: number },
  ) {
    this.from = hashes.from;
    this.#store = store;
    this.#hashes = hashes;
    this.#header = header;
    this.#serial = serial;
  }

  async add(entry: EntryTexts): Promise<void> {
    this.#pending.push(entry);
    this.#pendingBytes += entry.yaml.byteLength + entry.json.byteLength;
    if (this.#pendingBytes >= STEP_BYTES) await this.#flush();
  }

  /** Adds stored entries, a range at a time. */
  async addStored(ranges: readonly NameRange[]): Promise<void> {
    await this.#flush();
    const between = { yaml: this.#between('yaml'), json: this.#between('json') };
    let runs: HashedRun[] = [];
    let bytes = 0;
    let at = 0;
    for await (const run of this.#store.entryRuns(this.#header.name, this.#serial, { between, ranges })) {
      const first = ranges[at]?.from;
      runs.push({ ...(first === undefined ? {} : { first }), ...run });
      bytes += run.texts.yaml.byteLength + run.texts.json.byteLength;
      at += 1;
      if (bytes < this.#hashes.stepBytes) continue;
      await this.#hashes.add(runs);
      [runs, bytes] = [[], 0];
    }
    if (runs.length > 0) await this.#hashes.add(runs);
  }

  /** Call it once, after the last entry. */
  async end(): Promise<HashedDocuments> {
    await this.#flush();
    return this.#hashes.end();
  }

  #between(syntax: CatalogSyntax): string {
    return catalogFrame(`catalog.${syntax}`, this.#header).between;
  }

  async #flush(): Promise<void> {
    const pending = this.#pending;
    const [first] = pending;
    if (first === undefined) return;
    this.#pending = [];
    this.#pendingBytes = 0;
    const text = (syntax: CatalogSyntax) =>
      joinTexts(
        pending.map((entry) => entry[syntax]),
        Buffer.from(this.#between(syntax)),
      );
    const { group, kind } = first;
    const texts = { yaml: text('yaml'), json: text('json') };
    await this.#hashes.add([{ first: { group, kind }, functions: pending.length, texts }]);
  }
}
