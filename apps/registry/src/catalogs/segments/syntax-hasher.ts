import {
  type CatalogHeader,
  type CatalogSyntax,
  catalogFrame,
  compareFunctionNames,
  type NameRange,
  type SnapshotStore,
} from '@krmhub/catalog';
import type { Digest, FunctionName } from '@krmhub/schema';
import { LRUCache } from 'lru-cache';
import { type HashedSyntax, SyntaxHashes } from './syntax-hashes.js';

/** Entries between two checkpoints, at least. */
const INTERVAL = 1_024;
/** Catalogs with checkpoints: half a kilobyte for each. */
const MAX_CATALOGS = 16;

export interface HashedCatalog {
  header: CatalogHeader;
  /** Serial of the stored entries. */
  serial: number;
  /** Digest of the catalog document of the newest snapshot in this syntax. */
  previous?: Digest;
  /** A function before which nothing changed since then; absent if everything may have changed. */
  firstChange?: FunctionName;
}

/** The next entries of a catalog: stored ones, or texts that may not be stored yet. */
export type SyntaxPart =
  | { stored: readonly NameRange[] }
  | { first: FunctionName; functions: number; text: Uint8Array };

/** Hashes the documents of catalogs in one syntax. Several catalogs may be hashed at a time. */
export interface SyntaxHasher {
  /** Returns the name of the first entry to add; undefined for the first of the catalog. */
  begin(catalog: HashedCatalog): Promise<FunctionName | undefined>;
  add(catalog: string, part: SyntaxPart): Promise<void>;
  end(catalog: string): Promise<HashedSyntax>;
}

/** The hashes of everything before a function. */
interface Checkpoint {
  name: FunctionName;
  hashes: SyntaxHashes;
}

interface Running extends HashedCatalog {
  hashes: SyntaxHashes;
  checkpoints: Checkpoint[];
  /** Entries after the last checkpoint. */
  sinceLast: number;
}

/**
 * Keeps checkpoints in the hashes of the newest snapshots, in memory: the documents of the next snapshot are hashed
 * from the last one before the first change on. Unchanged segments after it are read as a whole.
 */
export class CheckpointHasher implements SyntaxHasher {
  readonly #store: Pick<SnapshotStore, 'entryRuns'>;
  readonly #syntax: CatalogSyntax;
  readonly #ended = new LRUCache<string, { digest: Digest; header: string; checkpoints: Checkpoint[] }>({
    max: MAX_CATALOGS,
  });
  readonly #running = new Map<string, Running>();

  constructor(store: Pick<SnapshotStore, 'entryRuns'>, syntax: CatalogSyntax) {
    this.#store = store;
    this.#syntax = syntax;
  }

  async begin(catalog: HashedCatalog): Promise<FunctionName | undefined> {
    const { header, previous, firstChange } = catalog;
    const known = this.#ended.get(header.name);
    const isCurrent = known?.digest === previous && known?.header === JSON.stringify(header);
    const checkpoints =
      isCurrent && firstChange !== undefined
        ? known.checkpoints.filter(({ name }) => compareFunctionNames(name, firstChange) <= 0)
        : [];
    const last = checkpoints.at(-1);
    const hashes = last?.hashes.copy() ?? SyntaxHashes.of(this.#syntax, header);
    this.#running.set(header.name, { ...catalog, hashes, checkpoints, sinceLast: 0 });
    return last?.name;
  }

  async add(catalog: string, part: SyntaxPart): Promise<void> {
    const running = this.#find(catalog);
    if ('first' in part) {
      addRun(running, part.first, part);
      return;
    }
    const { header, serial } = running;
    const { between } = catalogFrame(`catalog.${this.#syntax}`, header);
    const ranges = part.stored;
    let at = 0;
    const reading = { syntax: this.#syntax, between, ranges };
    for await (const run of this.#store.entryRuns(catalog, serial, reading)) {
      addRun(running, ranges[at]?.from, run);
      at += 1;
    }
  }

  async end(catalog: string): Promise<HashedSyntax> {
    const { hashes, header, checkpoints } = this.#find(catalog);
    this.#running.delete(catalog);
    const hashed = hashes.end();
    const { digest } = hashed.documents.find(({ rendition }) => rendition === `catalog.${this.#syntax}`)!;
    this.#ended.set(catalog, { digest, header: JSON.stringify(header), checkpoints });
    return hashed;
  }

  #find(catalog: string): Running {
    const running = this.#running.get(catalog);
    if (running === undefined) throw new Error(`catalog ${catalog} is not being hashed`);
    return running;
  }
}

function addRun(
  running: Running,
  first: FunctionName | undefined,
  { text, functions }: { text: Uint8Array; functions: number },
): void {
  if (first !== undefined && running.sinceLast >= INTERVAL) {
    running.checkpoints.push({ name: first, hashes: running.hashes.copy() });
    running.sinceLast = 0;
  }
  running.hashes.add(text, functions);
  running.sinceLast += functions;
}
