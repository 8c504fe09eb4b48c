import {
  type CatalogHeader,
  type CatalogSyntax,
  catalogFrame,
  RevisionConflict,
  type SegmentContent,
  type SegmentContentReader,
  type SnapshotRecord,
} from '@krmhub/catalog';
import { type Digest, type FunctionName, KrmhubError, SNAPSHOT_RENDITIONS } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { catalogHeader } from '../catalog-header.js';
import {
  CheckpointHasher,
  type EndedHashes,
  type HashedCatalog,
  type HashedStep,
  type Hashes,
  type SegmentTexts,
} from './checkpoint-hasher.js';
import type { StoredSegments } from './gzip-document.js';
import type { HasherThread } from './hasher-thread.js';
import { renditionSyntax, withHead } from './syntax-hashes.js';

/** Compressed bytes of segments that are read with one statement: each takes a round trip to PostgreSQL. */
const READ_BYTES = 2_097_152;
/** Compressed bytes of segments that are decompressed in one step: a megabyte or two of text. */
const STEP_BYTES = 262_144;
/** Steps that are decompressed and hashed while this thread reads others. */
const STEPS_AT_ONCE = 4;

/** Stored segments do not have the text that the newest snapshot was made from. */
export class DamagedSegments extends Error {}

export interface LargeCatalogs {
  /** Functions of the smallest. */
  functions: number;
  /** Hashes their segments while this thread reads them. */
  thread: HasherThread;
}

/** Hashes the documents of catalogs. Reads the segments that did not change. */
export class DocumentHasher {
  readonly #store: SegmentContentReader;
  readonly #large: LargeCatalogs | undefined;
  readonly #hasher = new CheckpointHasher();

  constructor(store: SegmentContentReader, large?: LargeCatalogs) {
    this.#store = store;
    this.#large = large;
  }

  /**
   * Begins to hash documents. They replace those of `previous`, the newest snapshot, of which all `segments` are added
   * from the first one on; absent if all texts are new. Nothing changed before the function `firstChange`. `functions`
   * is about the size of the catalog. `others` are new catalogs with the same entries.
   */
  async begin(
    header: CatalogHeader,
    functions: number,
    replacing?: { previous: SnapshotRecord; firstChange: FunctionName | undefined; segments: StoredSegments },
    others: readonly CatalogHeader[] = [],
  ): Promise<CatalogHashes> {
    const { previous, firstChange, segments = [] } = replacing ?? {};
    const catalog = {
      header,
      others,
      ...defined({ previous: previous?.digests['catalog.yaml'], firstChange }),
    };
    const contents = new SegmentContents(this.#store, segments);
    return new CatalogHashes(contents, await this.#begin(catalog, functions), previous);
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
    return this.#hasher.begin(catalog);
  }
}

/** Contents of segments that are needed in their order: reads the next ones together. */
class SegmentContents {
  readonly #store: SegmentContentReader;
  readonly #segments: StoredSegments;
  readonly #ahead = new Map<Digest, SegmentContent>();

  constructor(store: SegmentContentReader, segments: StoredSegments) {
    this.#store = store;
    this.#segments = segments;
  }

  /** Returns the content of a segment, once. Rejects with RevisionConflict if it was deleted. */
  async take({ digest }: StoredSegments[number]): Promise<SegmentContent> {
    if (!this.#ahead.has(digest)) await this.#readFrom(digest);
    const content = this.#ahead.get(digest);
    if (content === undefined) throw new RevisionConflict(`segment ${digest} was deleted`);
    this.#ahead.delete(digest);
    return content;
  }

  async #readFrom(digest: Digest): Promise<void> {
    const at = this.#segments.findIndex((one) => one.digest === digest);
    const [next = []] = parts(this.#segments.slice(at), READ_BYTES);
    for (const content of await this.#store.segmentContents(next.map((one) => one.digest)))
      if (content !== undefined) this.#ahead.set(content.digest, content);
  }
}

/** The hashes of one catalog. Add its segments in order. */
export class CatalogHashes {
  /** The first segment to add; undefined for the first of the catalog. */
  readonly from: FunctionName | undefined;
  readonly #contents: SegmentContents;
  readonly #hashes: Hashes;
  readonly #previous: SnapshotRecord | undefined;
  readonly #waiting = new Set<Promise<void>>();

  constructor(contents: SegmentContents, hashes: Hashes, previous: SnapshotRecord | undefined) {
    this.from = hashes.from;
    this.#contents = contents;
    this.#hashes = hashes;
    this.#previous = previous;
  }

  /** Adds a new segment. */
  async add({ group, kind }: FunctionName, texts: SegmentTexts): Promise<void> {
    await this.#hash({ group, kind, are: 'new', of: { texts } });
  }

  /** Adds segments of the newest snapshot that did not change. */
  async addKept(segments: StoredSegments): Promise<void> {
    await this.#read(segments, 'kept');
  }

  /** Adds segments of the newest snapshot that others replace. */
  async addReplaced(segments: StoredSegments): Promise<void> {
    await this.#read(segments, 'replaced');
  }

  /** Call it once, after the last segment. Rejects with DamagedSegments if the newest snapshot has other documents. */
  async end(): Promise<Omit<EndedHashes, 'replacedBodies'>> {
    await Promise.all(this.#waiting);
    const { replacedBodies, ...hashed } = await this.#hashes.end();
    const previous = this.#previous;
    if (replacedBodies === undefined) throw new DamagedSegments('a segment cannot be decompressed');
    if (previous === undefined) return hashed;
    for (const rendition of SNAPSHOT_RENDITIONS) {
      const { head } = catalogFrame(rendition, catalogHeader(previous));
      const read = withHead(head, replacedBodies[renditionSyntax(rendition)]);
      const facts = previous.documents?.[rendition];
      if (facts?.bytes === read.bytes && facts.crc32 === read.crc32) continue;
      throw new DamagedSegments(`the checksum of ${rendition} is not that of its segments`);
    }
    return hashed;
  }

  async #read(segments: StoredSegments, are: HashedStep['are']): Promise<void> {
    for (const some of parts(segments, STEP_BYTES)) {
      const compressed: Record<CatalogSyntax, Uint8Array[]> = { yaml: [], json: [] };
      for (const segment of some) {
        const content = await this.#contents.take(segment);
        compressed.yaml.push(content.yaml);
        compressed.json.push(content.json);
      }
      const { group, kind } = some[0]!;
      await this.#hash({ group, kind, are, of: { compressed } });
    }
  }

  /** Does not wait until the step is hashed. A failure stays, and another step rejects with it. */
  async #hash(step: HashedStep): Promise<void> {
    if (this.#waiting.size >= STEPS_AT_ONCE) await Promise.race(this.#waiting);
    const hashing = this.#hashes.add(step);
    this.#waiting.add(hashing);
    hashing.then(
      () => this.#waiting.delete(hashing),
      () => undefined,
    );
  }
}

/** Divides segments into parts of at most so many compressed bytes, or of one segment. */
function* parts(segments: StoredSegments, maxBytes: number): Iterable<StoredSegments> {
  let start = 0;
  let bytes = 0;
  for (const [at, { compressed }] of segments.entries()) {
    const size = compressed.yaml + compressed.json;
    if (at > start && bytes + size > maxBytes) {
      yield segments.slice(start, at);
      [start, bytes] = [at, 0];
    }
    bytes += size;
  }
  if (start < segments.length) yield segments.slice(start);
}
