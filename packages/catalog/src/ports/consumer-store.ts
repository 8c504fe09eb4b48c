import type { FunctionName } from '@krmhub/schema';
import type { Act } from './audit-store.js';
import type { Time } from './records.js';

/** A function that a package locks, by an API version and a release. */
export interface ConsumedRelease extends FunctionName {
  /** API version of the functionConfig. */
  version: string;
  release: string;
  /** Paths of the declared fields that the functionConfigs set, sorted. Absent if they were not reported. */
  fields?: string[];
}

/** A package whose lock file was reported. */
export interface ConsumerRecord {
  /** Who reported it: reports of others with the same name are others. */
  reporter: string;
  /** A hash, or the name of a public repository. */
  name: string;
  reportedAt: Time;
  /** By group, kind, API version, and release. */
  releases: ConsumedRelease[];
}

/** How many packages use a function. A package that several actors report is counted once. */
export interface ConsumerCounts {
  packages: number;
  /** By API version and release. */
  releases: { version: string; release: string; packages: number }[];
  /** Of the packages that reported their fields, by API version and field. */
  fields: { version: string; field: string; packages: number }[];
  /** Names of public ones, in code unit order; at most `maxNames`. */
  names: string[];
}

/** Counts the consumers of releases. */
export interface ConsumerReader {
  /** Counts the packages that were reported after a time. */
  countConsumers(name: FunctionName, since: Time, maxNames: number): Promise<ConsumerCounts>;
}

/** Deletes old reports. */
export interface ConsumerPruner {
  /** Deletes the reports of before a time. */
  deleteConsumers(before: Time): Promise<void>;
}

/** Stores which releases packages lock, as their users reported it. */
export interface ConsumerStore extends ConsumerReader, ConsumerPruner {
  /**
   * Replaces what the reporter said about a package; without releases, deletes it. Deletes reports older than `expired`.
   * A change is audited, and a repeated report is not. Does nothing if the reporter has `max` other packages.
   */
  putConsumer(
    consumer: ConsumerRecord,
    limits: { expired: Time; max: number },
    act: Act,
  ): Promise<'changed' | 'unchanged' | 'too-many'>;
}
