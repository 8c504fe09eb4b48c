import type { Digest, FunctionName } from '@krmhub/schema';
import type { Event, NewEvent, Time } from './records.js';
import type { SourceRecord, SourceRefresh, UpstreamCandidates, UpstreamEntryName } from './source-records.js';

/** Reads the state of upstream sources, and what they provide. */
export interface SourceReader {
  /** Returns the sources of one catalog or of all, by catalog and name. */
  sources(catalog?: string): Promise<SourceRecord[]>;
  /** As `sources`, also of a deleted catalog that is not purged. */
  keptSources(catalog: string): Promise<SourceRecord[]>;
  source(catalog: string, source: string): Promise<SourceRecord | undefined>;
  /** Returns the digests of all copies, whose bytes must be kept. */
  sourceCopyDigests(): Promise<Set<Digest>>;
  /** Returns the current entries of the source, by group and kind in code unit order. */
  sourceEntries(catalog: string, source: string): Promise<UpstreamEntryName[]>;
  /** Returns the entries of the sources of a catalog for each function, in name order. Kinds can differ in case. */
  upstreamCandidates(catalog: string, names: readonly FunctionName[]): Promise<UpstreamCandidates[]>;
  /**
   * Returns every function of the sources of a catalog once, by group and kind in code unit order. If sources spell its
   * kind differently, the first spelling is used.
   */
  allUpstreamCandidates(catalog: string): AsyncIterable<UpstreamCandidates>;
  /** Returns the groups in which this registry has or had a release: of the given ones, or all. */
  ownedGroups(groups?: readonly string[]): Promise<Set<string>>;
  /** Returns the functions of a group in the sources of a catalog, in their spelling, in code unit order. */
  upstreamFunctionNames(catalog: string, group: string): Promise<FunctionName[]>;
  /** Yields the groups of the sources of each catalog, by catalog and group in code unit order. */
  upstreamGroups(): AsyncIterable<{ catalog: string; group: string }>;
  /** Returns when the next entry reaches its minimum age. */
  nextMinimumAgeAt(catalog: string, minimumAges: ReadonlyMap<string, number>): Promise<Time | undefined>;
}

/** Stores the state of upstream sources. */
export interface SourceStore extends SourceReader {
  /**
   * Commits a planned refresh of a source and returns its event. Rejects with a RevisionConflict if the source was
   * applied or refreshed concurrently, or if a rendered entry is not stored.
   */
  commitRefresh(refresh: SourceRefresh): Promise<Event | undefined>;
  /**
   * Advances the catalog's clock to `now`. Entries that reach their minimum age change with the event; without
   * such entries there is no event. Ages are in seconds, by source name. Does nothing if the clock is not behind.
   */
  advanceCatalogClock(input: {
    catalog: string;
    minimumAges: ReadonlyMap<string, number>;
    now: Time;
    event: NewEvent;
  }): Promise<Event | undefined>;
}
