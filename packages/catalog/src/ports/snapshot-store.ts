import type { Digest, FunctionName } from '@krmhub/schema';
import type { ChangedEntry, EntryFilter, EntryPage, EntryQuery } from './entry-records.js';
import type {
  CatalogEntryRow,
  CatalogRecord,
  EntrySize,
  Event,
  NewEvent,
  RenderedEntry,
  ServedEntry,
  SnapshotBuild,
  SnapshotRecord,
  SnapshotSignature,
  Time,
} from './records.js';

/** Catalogs: their recipes, their snapshots with the signatures, and the entries of those. */
export interface SnapshotStore {
  catalogs(): Promise<CatalogRecord[]>;
  catalog(name: string): Promise<CatalogRecord | undefined>;
  /** Names of the catalogs whose newest snapshot contains the function; the case of the kind is ignored. */
  catalogsContaining(group: string, kind: string): Promise<string[]>;
  /**
   * What newest snapshots have from upstream catalogs of the function whose kind is equal but for case; by catalog,
   * `default` last.
   */
  servedEntries(group: string, kind: string): Promise<ServedEntry[]>;
  /**
   * Stores a recipe and marks the catalog for a full rebuild (`throughEvent: 0`) at the time `at`.
   * `expectedRecipe` is the text that it replaces, undefined for none; another one rejects with a RevisionConflict.
   * All its sources become due. A source keeps its state if its name stays the same;
   * the copy of a former URL is used until the new URL responds, and does not restrict what it may serve.
   */
  applyRecipe(input: {
    name: string;
    recipe: string;
    /** Those that are upstream catalogs; absent for none. */
    sources?: readonly { source: string; url: string }[];
    expectedRecipe: string | undefined;
    at: Time;
    by: string;
    event: NewEvent;
  }): Promise<Event>;
  /** Entry rows in the newest state of a catalog, including pending report changes. */
  latestEntryRows(
    name: string,
    names?: readonly { group: string; kind: string }[],
  ): Promise<CatalogEntryRow[]>;
  /** The entry that the newest state of a catalog has for a function, its kind as it is spelled; else undefined. */
  latestEntry(name: string, group: string, kind: string): Promise<RenderedEntry | undefined>;
  /**
   * Stores a signature only with its snapshot. Rejects with a RevisionConflict if the catalog was built or
   * applied by another party meanwhile.
   */
  commitSnapshot(cut: SnapshotBuild): Promise<void>;
  /** Newest first. */
  snapshots(name: string, limit: number): Promise<SnapshotRecord[]>;
  snapshot(name: string, reference: number | Digest): Promise<SnapshotRecord | undefined>;
  /** Undefined if the snapshot was withdrawn, or built by a version that did not sign. */
  snapshotSignature(name: string, serial: number): Promise<SnapshotSignature | undefined>;
  /** Replaces the signature of a snapshot; returns false if the snapshot does not exist or was withdrawn. */
  renewSignature(signature: SnapshotSignature): Promise<boolean>;
  /** The bundle of this digest that a snapshot of the catalog has now. */
  signatureBundle(name: string, digest: Digest): Promise<string | undefined>;
  /** Reports whether any snapshot of any catalog is signed. */
  hasSignatures(): Promise<boolean>;
  /** Entry rows as of a serial, by group and kind in code unit order. */
  snapshotEntryRows(name: string, serial: number): Promise<CatalogEntryRow[]>;
  /** A page of the entry rows of a catalog. Yields to other requests while it skips many rows. */
  entryPage(query: EntryQuery): Promise<EntryPage>;
  /** Counts entry rows by the source of the first API version; `''` is for functions without an entry. */
  countEntries(filter: EntryFilter): Promise<Map<string, number>>;
  /**
   * Functions whose entry row changed after the serial `from` and up to `to`, by group and kind in code unit
   * order; at most `limit`, and then `isAll` is false. Includes rows that changed and changed back.
   */
  changedEntries(
    name: string,
    serials: { from: number; to: number },
    limit: number,
  ): Promise<{ changed: ChangedEntry[]; isAll: boolean }>;
  /** Entry rows with their entries in the newest state of a catalog, by group and kind in code unit order. */
  latestEntries(name: string): AsyncIterable<FunctionName & { entry: RenderedEntry }>;
  /** The same rows with the sizes of their entries. Reads no entry. */
  latestEntrySizes(name: string): AsyncIterable<EntrySize>;
  /** Stores entries durably, before a build references them. */
  storeEntries(entries: readonly RenderedEntry[]): Promise<void>;
  /** Rendered entries by digest; rejects with `internal` if one is missing. */
  entries(digests: readonly Digest[]): Promise<Map<Digest, RenderedEntry>>;
}
