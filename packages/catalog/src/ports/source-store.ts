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
   * Applies a planned look at a source and gives its event. Rejects with a RevisionConflict where the source was
   * applied again or asked by another party meanwhile, and where a rendered entry is not stored.
   */
  commitRefresh(refresh: SourceRefresh): Promise<Event | undefined>;

  /** What the catalog's sources have of each function, in the order of the names; kinds may differ by case. */
  upstreamCandidates(catalog: string, names: readonly FunctionName[]): Promise<UpstreamCandidates[]>;
  /**
   * Every function that a source of the catalog has, each once, by group and kind in code unit order. Where sources
   * spell its kind differently, the first of the spellings in that order stands for all.
   */
  allUpstreamCandidates(catalog: string): AsyncIterable<UpstreamCandidates>;
  /** Those of the groups of which this registry holds a release, or held one that was taken down. */
  ownedGroups(groups: readonly string[]): Promise<Set<string>>;
  /** Functions of a group that a source of the catalog has, as they are spelled, in code unit order. */
  upstreamFunctionNames(catalog: string, group: string): Promise<FunctionName[]>;

  /**
   * Moves the catalog's clock on to `now`; the entries that come of age by that change with the event, and without
   * any there is no event. Ages are seconds by the source's name. Nothing happens where the clock is there already.
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
