import {
  type CatalogHeader,
  compareFunctionNames,
  type EntryTexts,
  type SnapshotRecord,
} from '@krmhub/catalog';
import type { Digest, FunctionName } from '@krmhub/schema';
import { LRUCache } from 'lru-cache';
import { DocumentHashes, type HashedDocuments } from './document-hashes.js';

/** Entries between two checkpoints. */
const INTERVAL = 1_024;
/** Catalogs with checkpoints: about a kilobyte each. */
const MAX_CATALOGS = 16;

/** The hashes of everything before a function. */
interface Checkpoint {
  name: FunctionName;
  hashes: DocumentHashes;
}

/**
 * Checkpoints in the hashes of the newest snapshots, in memory: the documents of the next snapshot are hashed from the
 * last one before the first change on.
 */
export class HashCheckpoints {
  readonly #catalogs = new LRUCache<string, { digest: Digest; header: string; checkpoints: Checkpoint[] }>({
    max: MAX_CATALOGS,
  });

  /**
   * Begins to hash the documents that follow a snapshot. `firstChange` is a function before which nothing changed;
   * absent if everything may have changed.
   */
  begin(
    header: CatalogHeader,
    previous: SnapshotRecord | undefined,
    firstChange: FunctionName | undefined,
  ): RecordedHashes {
    const known = this.#catalogs.get(header.name);
    const isCurrent =
      known !== undefined &&
      known.digest === previous?.digests['catalog.yaml'] &&
      known.header === JSON.stringify(header);
    const usable =
      isCurrent && firstChange !== undefined
        ? known.checkpoints.filter(({ name }) => compareFunctionNames(name, firstChange) <= 0)
        : [];
    return new RecordedHashes(header, usable, (digest, checkpoints) => {
      this.#catalogs.set(header.name, { digest, header: JSON.stringify(header), checkpoints });
    });
  }
}

/** Hashes documents, and records checkpoints. */
export class RecordedHashes {
  /** The first entry to add; absent for the first of the catalog. */
  readonly from: FunctionName | undefined;
  readonly #hashes: DocumentHashes;
  readonly #checkpoints: Checkpoint[];
  readonly #keep: (digest: Digest, checkpoints: Checkpoint[]) => void;
  #sinceLast = 0;

  constructor(
    header: CatalogHeader,
    earlier: readonly Checkpoint[],
    keep: (digest: Digest, checkpoints: Checkpoint[]) => void,
  ) {
    const last = earlier.at(-1);
    this.from = last?.name;
    this.#hashes = last?.hashes.copy() ?? DocumentHashes.of(header);
    this.#checkpoints = [...earlier];
    this.#keep = keep;
  }

  add(entry: EntryTexts): void {
    if (this.#sinceLast === INTERVAL) {
      const { group, kind } = entry;
      this.#checkpoints.push({ name: { group, kind }, hashes: this.#hashes.copy() });
      this.#sinceLast = 0;
    }
    this.#sinceLast += 1;
    this.#hashes.add(entry);
  }

  end(): HashedDocuments {
    const hashed = this.#hashes.end();
    this.#keep(hashed.digests['catalog.yaml'], this.#checkpoints);
    return hashed;
  }
}
