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
  /** Names of the catalogs whose newest snapshot holds the function, its kind equal but for case. */
  catalogsContaining(group: string, kind: string): Promise<string[]>;
  /**
   * What newest snapshots have from upstream catalogs of the function whose kind is equal but for case; by catalog,
   * `default` last.
   */
  servedEntries(group: string, kind: string): Promise<ServedEntry[]>;
  /**
   * Stores a recipe; the catalog is then to be cut again as a whole, which `throughEvent: 0` says, by the time `at`.
   * `expectedRecipe` is the text that it replaces, undefined for none; another one rejects with a RevisionConflict.
   * Its sources are all to be asked at once. What is known of a source stays while its name does;
   * the copy of another address is used until the new one answers, and binds it to nothing.
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
  /** Places in the newest state of a catalog, pending report changes included. */
  latestEntryRows(
    name: string,
    names?: readonly { group: string; kind: string }[],
  ): Promise<CatalogEntryRow[]>;
  /** The entry that the newest state of a catalog has for a function, its kind as it is spelled; else undefined. */
  latestEntry(name: string, group: string, kind: string): Promise<RenderedEntry | undefined>;
  /**
   * A signature is stored with its snapshot, or not at all. Rejects with a RevisionConflict where the catalog was cut or
   * applied by another party meanwhile.
   */
  commitSnapshot(cut: SnapshotBuild): Promise<void>;
  /** Newest first. */
  snapshots(name: string, limit: number): Promise<SnapshotRecord[]>;
  snapshot(name: string, reference: number | Digest): Promise<SnapshotRecord | undefined>;
  /** Undefined where the snapshot was withdrawn, or cut by a program that signed none. */
  snapshotSignature(name: string, serial: number): Promise<SnapshotSignature | undefined>;
  /** Replaces the signature of a snapshot; false where there is no such snapshot, or where it was withdrawn. */
  renewSignature(signature: SnapshotSignature): Promise<boolean>;
  /** The bundle of this digest that a snapshot of the catalog has now. */
  signatureBundle(name: string, digest: Digest): Promise<string | undefined>;
  /** Reports whether any snapshot of any catalog is signed. */
  hasSignatures(): Promise<boolean>;
  /** Places as of a serial, by group and kind in code unit order. */
  snapshotEntryRows(name: string, serial: number): Promise<CatalogEntryRow[]>;
  /** A page of the places of a catalog; others have their turn while much is passed over. */
  entryPage(query: EntryQuery): Promise<EntryPage>;
  /** How many places there are, by the source of the first API version; under `''` where the catalog holds none. */
  countEntries(filter: EntryFilter): Promise<Map<string, number>>;
  /**
   * Functions whose place after the serial `from` and up to `to` became another one, by group and kind in code unit
   * order; at most `limit`, and then `isAll` is false. A place that became what it was is among them.
   */
  changedEntries(
    name: string,
    serials: { from: number; to: number },
    limit: number,
  ): Promise<{ changed: ChangedEntry[]; isAll: boolean }>;
  /** Places with their entries, by group and kind in code unit order, of the newest state of a catalog. */
  latestEntries(name: string): AsyncIterable<FunctionName & { entry: RenderedEntry }>;
  /** The same places with the sizes of their entries, none of which is read. */
  latestEntrySizes(name: string): AsyncIterable<EntrySize>;
  /** Entries are durable before a cut names them. */
  storeEntries(entries: readonly RenderedEntry[]): Promise<void>;
  /** Rendered entries by digest; every digest asked for is answered, or it rejects with `internal`. */
  entries(digests: readonly Digest[]): Promise<Map<Digest, RenderedEntry>>;
}
