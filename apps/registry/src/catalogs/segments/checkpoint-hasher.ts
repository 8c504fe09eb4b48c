import {
  type CatalogHeader,
  type CatalogSyntax,
  compareFunctionNames,
  type DocumentFacts,
} from '@krmhub/catalog';
import type { Digest, FunctionName, SnapshotRendition } from '@krmhub/schema';
import { LRUCache } from 'lru-cache';
import { SyntaxHashes } from './syntax-hashes.js';

/** Entries between two checkpoints, at least. */
const INTERVAL = 1_024;
/** Catalogs with checkpoints: a kilobyte for each. */
const MAX_CATALOGS = 16;

export const SYNTAXES: readonly CatalogSyntax[] = ['yaml', 'json'];

export interface HashedCatalog {
  header: CatalogHeader;
  /** Digest of `catalog.yaml` of the newest snapshot. */
  previous?: Digest;
  /** A function before which nothing changed since then; absent if everything may have changed. */
  firstChange?: FunctionName;
}

/** Some entries of a catalog. */
export interface HashedRun {
  first?: FunctionName;
  functions: number;
  /** With the text between entries. */
  texts: Record<CatalogSyntax, Uint8Array>;
}

export interface HashedDocuments {
  functions: number;
  digests: Record<SnapshotRendition, Digest>;
  documents: Record<SnapshotRendition, DocumentFacts>;
}

/** Hashes, in this thread or another one. */
export interface Hashes {
  /** Bytes of stored entries that are best added together. */
  readonly stepBytes: number;
  /** The first entry to add; undefined for the first of the catalog. */
  readonly from: FunctionName | undefined;
  add(runs: readonly HashedRun[]): Promise<void>;
  end(): Promise<HashedDocuments>;
}

type BothHashes = Record<CatalogSyntax, SyntaxHashes>;

/** The hashes of everything before a function. */
interface Checkpoint {
  name: FunctionName;
  hashes: BothHashes;
}

interface Ended {
  digest: Digest;
  header: string;
  checkpoints: Checkpoint[];
}

/**
 * Keeps checkpoints in the hashes of the newest snapshots, in memory: the documents of the next snapshot are hashed from
 * the last one before the first change on.
 */
export class CheckpointHasher {
  readonly #ended = new LRUCache<string, Ended>({ max: MAX_CATALOGS });

  begin({ header, previous, firstChange }: HashedCatalog): RunningHashes {
    const known = this.#ended.get(header.name);
    const isCurrent = known?.digest === previous && known?.header === JSON.stringify(header);
    const checkpoints =
      isCurrent && firstChange !== undefined
        ? known.checkpoints.filter(({ name }) => compareFunctionNames(name, firstChange) <= 0)
        : [];
    return new RunningHashes(header, checkpoints, (ended) => this.#ended.set(header.name, ended));
  }
}

/** The hashes of one catalog. */
export class RunningHashes {
  /** The first entry to add; undefined for the first of the catalog. */
  readonly from: FunctionName | undefined;
  readonly #header: CatalogHeader;
  readonly #hashes: BothHashes;
  readonly #checkpoints: Checkpoint[];
  readonly #keep: (ended: Ended) => void;
  /** Entries after the last checkpoint. */
  #sinceLast = 0;

  constructor(header: CatalogHeader, checkpoints: Checkpoint[], keep: (ended: Ended) => void) {
    const last = checkpoints.at(-1);
    this.from = last?.name;
    this.#header = header;
    this.#checkpoints = checkpoints;
    this.#keep = keep;
    this.#hashes =
      last === undefined
        ? { yaml: SyntaxHashes.of('yaml', header), json: SyntaxHashes.of('json', header) }
        : copyOf(last.hashes);
  }

  /** Adds the next entries. */
  add(runs: readonly HashedRun[]): void {
    for (const { first, functions, texts } of runs) {
      if (first !== undefined && this.#sinceLast >= INTERVAL) {
        this.#checkpoints.push({ name: first, hashes: copyOf(this.#hashes) });
        this.#sinceLast = 0;
      }
      for (const syntax of SYNTAXES) this.#hashes[syntax].add(texts[syntax], functions);
      this.#sinceLast += functions;
    }
  }

  /** Call it once, after the last entry. */
  end(): HashedDocuments {
    const ended = SYNTAXES.map((syntax) => this.#hashes[syntax].end());
    const documents = ended.flatMap((one) => one.documents);
    const byRendition = <Value>(value: (one: (typeof documents)[number]) => Value) =>
      Object.fromEntries(documents.map((one) => [one.rendition, value(one)])) as Record<
        SnapshotRendition,
        Value
      >;
    const digests = byRendition(({ digest }) => digest);
    const header = JSON.stringify(this.#header);
    this.#keep({ digest: digests['catalog.yaml'], header, checkpoints: this.#checkpoints });
    return { functions: ended[0]!.functions, digests, documents: byRendition(({ facts }) => facts) };
  }
}

function copyOf({ yaml, json }: BothHashes): BothHashes {
  return { yaml: yaml.copy(), json: json.copy() };
}
