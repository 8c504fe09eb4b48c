import type { Digest, FunctionName } from '@krmhub/schema';
import type { Event, NewEvent, Time } from './records.js';
import type { SourceRecord, SourceRefresh, UpstreamCandidates, UpstreamEntryName } from './source-records.js';

/** What is known of the upstream catalogs that recipes take from. */
export interface SourceStore {
  /** Of one catalog or of all, by catalog and name. */
  sources(catalog?: string): Promise<SourceRecord[]>;
  source(catalog: string, source: string): Promise<SourceRecord | undefined>;
  /** Digests of the copies that any source has: their bytes are kept. */
  sourceCopyDigests(): Promise<Set<Digest>>;
  /** What the source has now, by group and kind in code unit order. */
  sourceEntries(catalog: string, source: string): Promise<UpstreamEntryName[]>;
  /**
   * Commits a planned refresh of a source and returns its event. Rejects with a RevisionConflict if the source was
   * applied or refreshed concurrently, or if a rendered entry is not stored.
   */
  commitRefresh(refresh: SourceRefresh): Promise<Event | undefined>;

  /** What the catalog's sources have of each function, in the order of the names; kinds may differ by case. */
  upstreamCandidates(catalog: string, names: readonly FunctionName[]): Promise<UpstreamCandidates[]>;
  /**
   * Every function that a source of the catalog has, each once, by group and kind in code unit order. Where sources
   * spell its kind differently, the first spelling in that order is used for all.
   */
  allUpstreamCandidates(catalog: string): AsyncIterable<UpstreamCandidates>;
  /** The groups in which this registry has a release, or had one that was taken down. */
  ownedGroups(groups: readonly string[]): Promise<Set<string>>;
  /** Functions of a group that a source of the catalog has, as they are spelled, in code unit order. */
  upstreamFunctionNames(catalog: string, group: string): Promise<FunctionName[]>;

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
  /** When the next entry comes of age that is not by the catalog's clock. */
  nextMinimumAgeAt(catalog: string, minimumAges: ReadonlyMap<string, number>): Promise<Time | undefined>;
}
