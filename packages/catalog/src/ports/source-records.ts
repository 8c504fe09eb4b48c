import type { CompletedEntry, Digest, FunctionName, SourceProblem } from '@krmhub/schema';
import type { NewEvent, ReleaseSignature, Time } from './records.js';

/** What is known of an API version before its definition is read: what policies judge by. */
export interface VersionFacts {
  /** API version of the functionConfig. */
  name: string;
  license: string;
  /** It needs the network. */
  network: boolean;
  /** It needs storage mounts. */
  storage: boolean;
  /** Images, scripts and binaries that it is run from. */
  references: string[];
  /** Those of them that no digest pins. */
  unpinned: string[];
}

/** A signature of what a source gives, whether or not anybody trusts it. */
export type SourceSignature = Omit<ReleaseSignature, 'bundle'>;

/** An entry of an upstream catalog, unchanged. */
export interface UpstreamEntry extends FunctionName {
  /** Digest of the entry in normal form (`RenderedEntry.digest`), before anything is rewritten. */
  definition: Digest;
  versions: VersionFacts[];
  tags: string[];
  publisher: string;
  runtimes: string[];
  licenses: string[];
  /**
   * When this registry first saw the entry with these bytes in this source; for one that was away meanwhile, so much
   * later. Minimum ages count from then.
   */
  firstSeen: Time;
  /** Since when the source does not have it any more; absent while it does. */
  goneAt?: Time;
}

/** An entry of an upstream catalog that cannot be used. */
export interface InvalidEntry {
  /** Its number in the catalog, from 0. */
  entry: number;
  group?: string;
  kind?: string;
  /** The first thing that is wrong with it. */
  message: string;
}

/** The last good copy of an upstream catalog. */
export interface SourceCopy {
  /** Digest of its exact bytes. */
  digest: Digest;
  /** Bytes. */
  size: number;
  fetchedAt: Time;
  /** What a later request is made conditional by. */
  validators: Record<string, string>;
  /** From where it was fetched, where the recipe has named another address since: it binds what comes from there to nothing. */
  formerUrl?: string;
  /** Number of entries that can be used. */
  entries: number;
  /** The first of those that cannot, and how many there are. */
  invalid: InvalidEntry[];
  invalidEntries: number;
  /** The first of those that were completed, and how many there are; absent for none. */
  completed?: CompletedEntry[];
  completedEntries?: number;
  /** How it was read (`readingDigest`); absent where a catalog was read as it is. */
  reading?: Digest;
  /** Of the catalog as a whole: those that hold. */
  signatures: SourceSignature[];
  /** What a signed snapshot says of itself. */
  snapshot?: { catalog: string; serial: number; expires: Time };
}

/** A source of a catalog's recipe that is an upstream catalog. */
export interface SourceRecord {
  catalog: string;
  /** Name of the source in the recipe. */
  source: string;
  /** As the recipe has it. */
  url: string;
  /** When it is to be asked next. */
  nextAt: Time;
  /** When it was last asked. */
  checkedAt?: Time;
  /** Since the last success. */
  failure?: {
    problem: SourceProblem;
    message: string;
    /** Of the first failure since the last success. */
    since: Time;
    attempts: number;
  };
  copy?: SourceCopy;
  /** The highest serial that was seen under a good signature, and the digest of its catalog. */
  highest?: { serial: number; digest: Digest };
}

/** The changes of a refresh, which a store commits in one transaction. */
export interface SourceRefresh {
  /** The record on which it was planned. */
  expected: SourceRecord;
  /** The record afterwards. */
  record: SourceRecord;
  /** Entries that are new or returned; a returned entry keeps its age. Their rendered entries are stored. */
  put: UpstreamEntry[];
  /** Entries that the source does not have any more. */
  removed: UpstreamEntryName[];
  /** Whether all entries must be evaluated again, because the signers changed. */
  reevaluate: boolean;
  /** Entries that were removed before this time are deleted, unless their replacement is newer. */
  purgeGoneBefore: Time;
  /** Absent if nothing changed that consumers need to know. */
  event?: NewEvent;
}

/** Which entry of a source is meant: a source has one of a function, and had others before. */
export interface UpstreamEntryName extends FunctionName {
  definition: Digest;
}

/**
 * The entries of a function in the sources of a catalog, by source name: the current entry, then those that
 * it replaced, latest first. Removed entries are not included.
 */
export interface UpstreamCandidates extends FunctionName {
  candidates: Map<string, UpstreamEntry[]>;
}
