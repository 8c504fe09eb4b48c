import {
  type CatalogHeader,
  type CatalogSyntax,
  catalogFrame,
  compareFunctionNames,
  type DocumentFacts,
} from '@krmhub/catalog';
import type { Digest, FunctionName, SnapshotRendition } from '@krmhub/schema';
import { LRUCache } from 'lru-cache';
import { inflateSegments } from './gzip.js';
import { SyntaxHashes } from './syntax-hashes.js';

/** Bytes of entries in both syntaxes between two checkpoints, at least: they are hashed in 4 ms. */
const INTERVAL_BYTES = 2_097_152;
/** Checkpoints of all catalogs: a kilobyte for each. */
const MAX_CHECKPOINTS = 4_096;

export const SYNTAXES: readonly CatalogSyntax[] = ['yaml', 'json'];

/** The texts of one or several entries, with the text between them. */
export type SegmentTexts = Record<CatalogSyntax, Uint8Array>;

export interface HashedCatalog {
  header: CatalogHeader;
  /** Of new catalogs with the same entries, whose documents are hashed too. */
  others?: readonly CatalogHeader[];
  /** Digest of `catalog.yaml` of the newest snapshot. */
  previous?: Digest;
  /** A function before which nothing changed since then; absent if everything may have changed. */
  firstChange?: FunctionName;
}

/** Consecutive segments of a catalog, by the name of the first. */
export interface HashedStep extends FunctionName {
  /** Whether the newest snapshot does not have them yet, has them too, or has them instead of others. */
  are: 'new' | 'kept' | 'replaced';
  /** Their texts, or their compressed bytes. */
  of: { texts: SegmentTexts } | { compressed: Record<CatalogSyntax, Uint8Array[]> };
}

export interface HashedDocuments {
  digests: Record<SnapshotRendition, Digest>;
  documents: Record<SnapshotRendition, DocumentFacts>;
}

export interface EndedHashes extends HashedDocuments {
  /** The documents of `others`, by catalog. */
  others: ReadonlyMap<string, HashedDocuments>;
  /** What follows the heads of the documents that these replace. Absent if segments are damaged. */
  replacedBodies?: Record<CatalogSyntax, DocumentFacts>;
}

/** Hashes, in this thread or another one. */
export interface Hashes {
  /** The first segment to add; undefined for the first of the catalog. */
  readonly from: FunctionName | undefined;
  /** Adds the next segments. Resolves when they are hashed; others can be added before. */
  add(step: HashedStep): Promise<void>;
  /** Call it once, after the last segment is hashed. */
  end(): Promise<EndedHashes>;
}

type BothHashes = Record<CatalogSyntax, SyntaxHashes>;

/** The hashes of everything before a segment, by the name of its first entry. */
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
  readonly #ended = new LRUCache<string, Ended>({
    maxSize: MAX_CHECKPOINTS,
    sizeCalculation: ({ checkpoints }) => checkpoints.length + 1,
  });

  begin({ header, others = [], previous, firstChange }: HashedCatalog): Hashes {
    const known = this.#ended.get(header.name);
    const isCurrent = known?.digest === previous && known?.header === JSON.stringify(header);
    const checkpoints =
      isCurrent && firstChange !== undefined
        ? known.checkpoints.filter(({ name }) => compareFunctionNames(name, firstChange) <= 0)
        : [];
    return new RunningHashes([header, ...others], checkpoints, (name, ended) => this.#ended.set(name, ended));
  }
}

/** The hashes of one catalog, or of new ones with the same entries. Threads of Node.js decompress the next segments while this one hashes. */
class RunningHashes implements Hashes {
  readonly from: FunctionName | undefined;
  readonly #headers: readonly [CatalogHeader, ...CatalogHeader[]];
  readonly #hashes: BothHashes;
  readonly #checkpoints: Checkpoint[];
  readonly #keep: (name: string, ended: Ended) => void;
  #bytesSinceLast = 0;
  #isDamaged = false;
  #added: Promise<void> = Promise.resolve();

  constructor(
    headers: readonly [CatalogHeader, ...CatalogHeader[]],
    checkpoints: Checkpoint[],
    keep: (name: string, ended: Ended) => void,
  ) {
    const last = checkpoints.at(-1);
    this.from = last?.name;
    this.#headers = headers;
    this.#checkpoints = checkpoints;
    this.#keep = keep;
    this.#hashes =
      last === undefined
        ? { yaml: SyntaxHashes.of('yaml', headers), json: SyntaxHashes.of('json', headers) }
        : copyHashes(last.hashes);
  }

  add(step: HashedStep): Promise<void> {
    const reading = this.#read(step);
    this.#added = this.#added.then(async () => {
      const texts = await reading;
      if (texts === undefined) this.#isDamaged = true;
      else this.#hash(step, texts);
    });
    return this.#added;
  }

  /** Returns the texts of segments, or undefined if they are damaged. */
  async #read({ of }: HashedStep): Promise<SegmentTexts | undefined> {
    if ('texts' in of) return of.texts;
    const inflate = (syntax: CatalogSyntax) =>
      inflateSegments(
        of.compressed[syntax],
        Buffer.from(catalogFrame(`catalog.${syntax}`, this.#headers[0]).between),
      );
    const [yaml, json] = await Promise.allSettled([inflate('yaml'), inflate('json')]);
    if (yaml.status === 'rejected' || json.status === 'rejected') return undefined;
    return { yaml: yaml.value, json: json.value };
  }

  #hash({ group, kind, are }: HashedStep, texts: SegmentTexts): void {
    if (are === 'replaced') {
      for (const syntax of SYNTAXES) this.#hashes[syntax].addReplaced(texts[syntax]);
      return;
    }
    if (this.#bytesSinceLast >= INTERVAL_BYTES) {
      this.#checkpoints.push({ name: { group, kind }, hashes: copyHashes(this.#hashes) });
      this.#bytesSinceLast = 0;
    }
    for (const syntax of SYNTAXES) {
      this.#hashes[syntax].add(texts[syntax], { isKept: are === 'kept' });
      this.#bytesSinceLast += texts[syntax].byteLength;
    }
  }

  async end(): Promise<EndedHashes> {
    const ended = { yaml: this.#hashes.yaml.end(), json: this.#hashes.json.end() };
    const documents = [...ended.yaml.documents, ...ended.json.documents];
    const [own, ...others] = this.#headers.map((header) => {
      const ofCatalog = documents.filter(({ catalog }) => catalog === header.name);
      const byRendition = <Value>(value: (one: (typeof documents)[number]) => Value) =>
        Object.fromEntries(ofCatalog.map((one) => [one.rendition, value(one)])) as Record<
          SnapshotRendition,
          Value
        >;
      const hashed = {
        digests: byRendition(({ digest }) => digest),
        documents: byRendition(({ facts }) => facts),
      };
      if (!this.#isDamaged) this.#keepOne(header, hashed.digests['catalog.yaml']);
      return [header.name, hashed] as const;
    });
    const hashed = { ...own![1], others: new Map(others) };
    if (this.#isDamaged) return hashed;
    return {
      ...hashed,
      replacedBodies: { yaml: ended.yaml.replacedBody, json: ended.json.replacedBody },
    };
  }

  #keepOne(header: CatalogHeader, digest: Digest): void {
    const checkpoints = this.#checkpoints.map(({ name, hashes: { yaml, json } }) => ({
      name,
      hashes: { yaml: yaml.only(header.name), json: json.only(header.name) },
    }));
    this.#keep(header.name, { digest, header: JSON.stringify(header), checkpoints });
  }
}

function copyHashes({ yaml, json }: BothHashes): BothHashes {
  return { yaml: yaml.copy(), json: json.copy() };
}
