import type { Digest, EntryVersion, FunctionName, SnapshotRendition } from '@krmhub/schema';
import type { Act } from './audit-store.js';
import type { ChangedEntry, EntryFilter, EntryPage, EntryQuery } from './entry-records.js';
import type { DecidedThrough } from './event-store.js';
import type {
  CatalogDeletion,
  CatalogEntryRow,
  CatalogRecord,
  CatalogTombstone,
  Event,
  NewEvent,
  RenderedEntry,
  ServedEntry,
  SnapshotBuild,
  SnapshotRecord,
  SnapshotSignature,
  Time,
} from './records.js';
import type {
  CatalogSegment,
  CatalogSyntax,
  DocumentFacts,
  EntryTexts,
  NameRange,
  SegmentChanges,
  SegmentContent,
} from './segment-records.js';

/** A function with the first and the last snapshot of a catalog that contain it. */
export interface IncludedFunction extends FunctionName {
  from: number;
  to: number;
}

/** The snapshots of a catalog that select a release for an API version. */
export interface ServedRelease extends Pick<EntryVersion, 'definition' | 'signedBy'> {
  release: string;
  /** API version of the functionConfig. */
  version: string;
  /** Serial of the first one. */
  first: number;
  /** Serial of the last one. Absent if the newest snapshot selects it. */
  last?: number;
  /** Serial of the newest one that was not withdrawn. Absent if there is none. */
  serial?: number;
}

/** Reads the signatures of snapshots. */
export interface SignatureReader {
  /** Returns the signature; undefined if the snapshot was withdrawn, or built by a version without signatures. */
  snapshotSignature(name: string, serial: number): Promise<SnapshotSignature | undefined>;
  /** Returns the current bundle with this digest of a snapshot of the catalog. */
  signatureBundle(name: string, digest: Digest): Promise<string | undefined>;
  /** Reports whether any snapshot of any catalog is signed. */
  hasSignatures(): Promise<boolean>;
  /** Fingerprints of the keys of all stored signatures. */
  signatureKeys(): Promise<Digest[]>;
}

/** Lists catalogs. */
export interface CatalogLister {
  /** Returns the catalogs that are not deleted, by name. */
  catalogs(): Promise<CatalogRecord[]>;
}

/** Reads the records of catalogs. */
export interface CatalogRecordReader extends CatalogLister {
  /** Returns undefined also for a deleted catalog. */
  catalog(name: string): Promise<CatalogRecord | undefined>;
}

/** Reads what remains of deleted catalogs. */
export interface DeletedCatalogReader {
  /** Returns the tombstones of deleted catalogs, by name. */
  deletedCatalogs(): Promise<CatalogTombstone[]>;
  /** With the recipe, which a restore applies; empty after the purge. */
  deletedCatalog(name: string): Promise<(CatalogTombstone & { recipe: string }) | undefined>;
}

/** Reads catalogs, and the records of their snapshots. */
export interface CatalogReader extends CatalogRecordReader, DeletedCatalogReader, SignatureReader {
  /** Returns the catalogs whose newest snapshot contains the function, ignoring the case of the kind. */
  catalogsContaining(group: string, kind: string): Promise<string[]>;
  /**
   * Returns the catalogs that have or had entry rows of one of these functions, ignoring the case of kinds, and those of
   * `combined` whose sources have entries in one of their groups.
   */
  catalogsNaming(functions: readonly FunctionName[], combined: readonly string[]): Promise<string[]>;
  /** Returns the functions that any snapshot of the catalog contains, ignoring the case of kinds; by name. */
  includedFunctions(name: string): Promise<IncludedFunction[]>;
  /** Returns snapshots, newest first: only those with a serial smaller than `before`, if it is given. */
  snapshots(name: string, limit: number, before?: number): Promise<SnapshotRecord[]>;
  snapshot(name: string, reference: number | Digest): Promise<SnapshotRecord | undefined>;
}

/** Reads the texts of entries. */
export interface EntryTextReader {
  /**
   * Returns the entries of a snapshot in a range with their texts, by group and kind in code unit order. One more than
   * the newest serial is the newest state of the catalog. Yields to other work between pages.
   */
  entryTexts(name: string, serial: number, range?: NameRange): AsyncIterable<EntryTexts>;
  /** Returns the same texts in one syntax, a page at a time. */
  entryPages(
    name: string,
    serial: number,
    syntax: CatalogSyntax,
    range?: NameRange,
  ): AsyncIterable<Uint8Array[]>;
  /** Returns the size of all entries of a snapshot together, in UTF-8 bytes. */
  entryBytes(name: string, serial: number): Promise<Record<CatalogSyntax, number>>;
  /** Returns the texts of rendered entries as bytes, by digest, without those that are missing. */
  entryTextsOf(digests: readonly Digest[]): Promise<Map<Digest, Record<CatalogSyntax, Uint8Array>>>;
}

/** Reads a bounded part of the entries of a catalog. */
export interface EntryPageReader {
  /** Returns a page of entry rows of a catalog. Yields to other requests while it skips many rows. */
  entryPage(query: EntryQuery): Promise<EntryPage>;
  /**
   * Counts entry rows by the source of the first API version, of all functions or those of `sees`; `''` is for functions
   * without an entry.
   */
  countEntries(filter: EntryFilter, sees?: (name: FunctionName) => boolean): Promise<Map<string, number>>;
  /**
   * Returns functions with a changed entry row after the serial `from` and up to `to`, by group and kind in code unit
   * order, at most `limit`; `isAll` is false if there are more. Includes rows that changed and changed back.
   */
  changedEntries(
    name: string,
    serials: { from: number; to: number },
    limit: number,
  ): Promise<{ changed: ChangedEntry[]; isAll: boolean }>;
}

/** Reads what catalogs have of functions. */
export interface ServedEntryReader {
  /**
   * Returns the upstream entries of a function in newest snapshots, ignoring the case of the kind; by catalog,
   * `default` last.
   */
  servedEntries(group: string, kind: string): Promise<ServedEntry[]>;
  /**
   * Returns the catalogs whose newest snapshots contain functions, ignoring the case of the kinds, in the order of the
   * names; undefined for functions of this registry.
   */
  servingCatalogs(names: readonly FunctionName[]): Promise<(string[] | undefined)[]>;
  /**
   * Returns the descriptions of functions as a snapshot has them, in the order of the names; undefined for those that it
   * does not have.
   */
  descriptions(
    catalog: string,
    serial: number,
    names: readonly FunctionName[],
  ): Promise<(string | undefined)[]>;
}

/** Reads which snapshots have which releases. */
export interface ServedReleaseReader {
  /**
   * Returns which snapshots have which releases of functions with the exact kinds, in the order of the functions, from
   * the newest `limit` states of the entry of each; `isAll` is false if there are older ones. Entries without a release
   * are omitted.
   */
  servedReleases(
    name: string,
    functions: readonly FunctionName[],
    limit: number,
  ): Promise<{ served: ServedRelease[]; isAll: boolean }[]>;
}

/** Reads rendered entries, which catalogs and sources share. */
export interface RenderedEntryReader {
  /** Returns rendered entries by digest. Rejects with `internal` if one is missing. */
  entries(digests: readonly Digest[]): Promise<Map<Digest, RenderedEntry>>;
}

/** Stores rendered entries. */
export interface RenderedEntryStore extends RenderedEntryReader {
  /** Stores entries before a build or a sync references them, with which they are durable. */
  storeEntries(entries: readonly RenderedEntry[]): Promise<void>;
}

/** Reads the entries of catalogs. */
export interface EntryReader
  extends EntryTextReader,
    EntryPageReader,
    ServedEntryReader,
    ServedReleaseReader,
    RenderedEntryReader {
  /** Returns the entry rows in the newest state of a catalog, including pending report changes. */
  latestEntryRows(
    name: string,
    names?: readonly { group: string; kind: string }[],
  ): Promise<CatalogEntryRow[]>;
  /** Returns the names of these rows, by group and kind in code unit order. Yields to other work between pages. */
  latestEntryNames(name: string): AsyncIterable<FunctionName>;
  /** Returns the entry of a function in a snapshot, with the exact kind; otherwise undefined. */
  snapshotEntry(name: string, serial: number, of: FunctionName): Promise<RenderedEntry | undefined>;
  /**
   * Returns the entry rows at a serial, by group and kind in code unit order; if names are given, their rows, in their
   * order.
   */
  snapshotEntryRows(
    name: string,
    serial: number,
    names?: readonly FunctionName[],
  ): Promise<CatalogEntryRow[]>;
}

/** Reads the contents of segments. */
export interface SegmentContentReader {
  /** Returns the contents of segments in order, as far as they are stored. */
  segmentContents(digests: readonly Digest[]): Promise<(SegmentContent | undefined)[]>;
}

/** Reads the segments of newest snapshots. */
export interface SegmentReader extends SegmentContentReader {
  /**
   * Returns the segments of the newest snapshot in order, with the sizes of their compressed bytes. Undefined if it has
   * another serial.
   */
  segments(
    name: string,
    serial: number,
  ): Promise<(CatalogSegment & { compressed: Record<CatalogSyntax, number> })[] | undefined>;
  /** Returns the lines of `snapshot.json` of the segments of the newest snapshot, in order. */
  segmentLines(name: string): AsyncIterable<FunctionName & { lines: string }>;
  /** Returns the digests of segments that are not stored. */
  missingSegments(digests: readonly Digest[]): Promise<Digest[]>;
  /** Returns the compressed bytes of segments in order, as far as they are stored. */
  segmentBytes(digests: readonly Digest[], syntax: CatalogSyntax): Promise<(Uint8Array | undefined)[]>;
}

/** Stores the segments of newest snapshots. */
export interface SegmentStore extends SegmentReader {
  /**
   * Stores contents before a build names them, with which they are durable, and replaces those with the same digests. A
   * takedown deletes those that no catalog names.
   */
  storeSegments(contents: readonly SegmentContent[]): Promise<void>;
  /** Deletes contents that no catalog names. Call it while no build runs. */
  deleteUnusedSegments(): Promise<void>;
  /**
   * Adds what older versions did not store with the newest snapshot of a catalog. Returns false if there is a newer
   * one.
   */
  addSegments(added: {
    catalog: string;
    serial: number;
    segments: SegmentChanges;
    documents: Record<SnapshotRendition, DocumentFacts>;
  }): Promise<boolean>;
}

/** Stores recipes. */
export interface RecipeStore {
  /**
   * Stores a recipe and marks the catalog for a full rebuild (`throughEvent: 0`) at the time `at`.
   * `expectedRecipe` is the text that it replaces, undefined for none; another one rejects with a RevisionConflict, and
   * so does a decision that is outdated.
   * All its sources become due. A source keeps its state if its name stays the same;
   * the copy of a former URL is used until the new URL responds, and does not restrict what it may serve.
   */
  applyRecipe(input: {
    name: string;
    recipe: string;
    /** The upstream sources. Absent if there are none. */
    sources?: readonly { source: string; url: string }[];
    expectedRecipe: string | undefined;
    decided?: DecidedThrough | undefined;
    at: Time;
    by: string;
    event: NewEvent;
    origin?: Act['origin'];
  }): Promise<Event>;
}

/** Deletes catalogs, and restores them. */
export interface CatalogDeletions {
  /**
   * Deletes a catalog: catalogs, sources, and search exclude it, and builds of it are rejected. Its rows stay. Rejects
   * with a RevisionConflict if it does not exist or is deleted.
   */
  deleteCatalog(input: {
    name: string;
    deletion: CatalogDeletion;
    event: NewEvent;
    origin?: Act['origin'];
  }): Promise<Event>;
  /**
   * Restores a deleted catalog, marks it for a full rebuild, and makes its sources due at the time `at`. Rejects with a
   * RevisionConflict if it is not deleted, if it is purged, or if the decision is outdated.
   */
  restoreCatalog(input: {
    name: string;
    decided?: DecidedThrough | undefined;
    at: Time;
    event: NewEvent;
    origin?: Act['origin'];
  }): Promise<Event>;
}

/** Deletes the data of catalogs that can no longer be restored. */
export interface CatalogPurges {
  /**
   * Returns the names of deleted catalogs to purge: at the time `at`, they can no longer be restored, and search
   * excludes them; or their purge is unfinished.
   */
  catalogsToPurge(at: Time): Promise<string[]>;
  /**
   * Marks a catalog as purged, and erases its recipe. From then on, it cannot be restored, and its profiles belong to
   * no snapshot. Returns false if it must not be purged.
   */
  startPurge(name: string, at: Time): Promise<boolean>;
  /** Deletes some rows of a purged catalog, the snapshots last. Returns false if none are left. Its tombstone stays. */
  purgeRows(name: string, at: Time): Promise<boolean>;
  /**
   * Deletes some rendered entries that a purge or a sync left unused, long enough before the time `at` that no build
   * uses them. Returns false if there are none.
   */
  collectEntries(at: Time): Promise<boolean>;
}

/** Stores catalogs: their recipes, signed snapshots, and entries. */
export interface SnapshotStore
  extends CatalogReader,
    EntryReader,
    RenderedEntryStore,
    SegmentStore,
    RecipeStore,
    CatalogDeletions,
    CatalogPurges {
  /**
   * Stores a signature only with its snapshot. Rejects with a RevisionConflict if the catalog was built or
   * applied by another party meanwhile.
   */
  commitSnapshot(cut: SnapshotBuild): Promise<void>;
  /**
   * Marks catalogs as built through an event, because no event after their last build changes them. Leaves out those
   * that are due for a full build.
   */
  passOver(catalogs: readonly string[], throughEvent: number): Promise<void>;
  /** Replaces the signature of a snapshot; returns false if the snapshot does not exist or was withdrawn. */
  renewSignature(signature: SnapshotSignature): Promise<boolean>;
}
