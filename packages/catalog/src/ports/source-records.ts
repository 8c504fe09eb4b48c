import type { CompletedEntry, Digest, FunctionName, SourceProblem, SourceWarning } from '@krmhub/schema';
import type { NewEvent, ReleaseSignature, Time } from './records.js';

/** The facts of an API version for policies, without its definition. */
export interface VersionFacts {
  /** API version of the functionConfig. */
  name: string;
  license: string;
  /** Whether it requires network access. */
  network: boolean;
  /** Whether it requires storage mounts. */
  storage: boolean;
  /** Its images, scripts, and executables. */
  references: string[];
  /** Those without a digest. */
  unpinned: string[];
}

/** A signature of the content of a source, trusted or not. */
export type SourceSignature = Omit<ReleaseSignature, 'bundle'>;

/** An entry of an upstream catalog, unchanged. */
export interface UpstreamEntry extends FunctionName {
  /** Digest of the entry in normal form (`RenderedEntry.digest`), before references are rewritten. */
  definition: Digest;
  versions: VersionFacts[];
  tags: string[];
  publisher: string;
  runtimes: string[];
  licenses: string[];
  /**
   * When this registry first saw the entry with these bytes in this source, later by the time for which it was absent.
   * Minimum ages count from this time.
   */
  firstSeen: Time;
  /** When the source removed the entry. Absent for a current entry. */
  goneAt?: Time;
}

/** An invalid entry of an upstream catalog. */
export interface InvalidEntry {
  /** Its index in the catalog, from 0. */
  entry: number;
  group?: string;
  kind?: string;
  /** The first error. */
  message: string;
}

/** The last good copy of an upstream catalog. */
export interface SourceCopy {
  /** Digest of its exact bytes. */
  digest: Digest;
  /** Bytes. */
  size: number;
  fetchedAt: Time;
  /** Validators for conditional requests. */
  validators: Record<string, string>;
  /** The URL of the copy, if the recipe now has another URL. It does not restrict the content of the new URL. */
  formerUrl?: string;
  /** Number of valid entries. */
  entries: number;
  /** The first invalid entries, and the number of all. */
  invalid: InvalidEntry[];
  invalidEntries: number;
  /** The first completed entries, and the number of all. Absent if there are none. */
  completed?: CompletedEntry[];
  completedEntries?: number;
  /** The first warnings about its groups, at the time when it was fetched. Absent if there are none. */
  warnings?: SourceWarning[];
  /** How it was read (`readingDigest`). Absent for a plain catalog. */
  reading?: Digest;
  /** The valid signatures of the catalog. */
  signatures: SourceSignature[];
  /** The claims of a signed snapshot. */
  snapshot?: { catalog: string; serial: number; expires: Time };
}

/** An upstream source in the recipe of a catalog. */
export interface SourceRecord {
  catalog: string;
  /** Name of the source in the recipe. */
  source: string;
  /** URL in the recipe. */
  url: string;
  /** Time of the next sync. */
  nextAt: Time;
  /** Time of the last sync. */
  checkedAt?: Time;
  /** Failures since the last successful sync. */
  failure?: {
    problem: SourceProblem;
    message: string;
    /** Time of the first failure since the last success. */
    since: Time;
    attempts: number;
  };
  copy?: SourceCopy;
  /** The highest serial with a valid signature, and the digest of its catalog. */
  highest?: { serial: number; digest: Digest };
}

/** The planned changes of a sync, which a store commits in one transaction. */
export interface SourceRefresh {
  /** The record at the time of the plan. */
  expected: SourceRecord;
  /** The new record. */
  record: SourceRecord;
  /**
   * Entries that are new or returned. A returned entry keeps its age, unless another one that reached the minimum age
   * had replaced it. Their rendered entries are stored.
   */
  put: UpstreamEntry[];
  /** Entries that the source removed. */
  removed: UpstreamEntryName[];
  /** Whether all entries must be evaluated again, because the signers changed. */
  reevaluate: boolean;
  /** Of the source in the recipe. */
  minimumAgeSeconds?: number;
  /** Entries that were removed before this time are deleted, unless their replacement is newer. */
  purgeGoneBefore: Time;
  /** The event. Absent if nothing changed for users. */
  event?: NewEvent;
}

/** Identifies an entry of a source, which has one current entry per function, and earlier ones. */
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
