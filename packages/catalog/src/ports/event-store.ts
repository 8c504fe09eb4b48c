import type { Digest } from '@krmhub/schema';
import type { Event, EventType } from './records.js';

/** Reads events in their order. */
export interface EventReader {
  /** Returns events after a sequence, oldest first; with `before`, only those before that one. */
  events(after: number, limit: number, before?: number): Promise<Event[]>;
  /** Returns the sequence of the newest event; 0 if there is none. */
  lastEvent(): Promise<number>;
}

/** What a decision about a change was made by: it is outdated after a later event of one of these types. */
export interface DecidedThrough {
  event: number;
  types: readonly EventType[];
}

/** The event log. Every other port appends to it in the transactions of its changes. */
export interface EventStore extends EventReader {
  /**
   * Returns yanks, unyanks, takedowns, withdrawn snapshots, and deleted and restored catalogs after a sequence, oldest
   * first. With digests, only takedowns that refuse one of them. Returns fewer than `limit` if they have many digests.
   */
  revocations(after: number, limit: number, digests?: readonly Digest[]): Promise<Event[]>;
  /**
   * Returns the functions of `release.*` events after a sequence and up to another. For a catalog, it also returns
   * functions with changed entries in its sources, and all functions of its sources in a group in which this registry
   * got its first release or lost its last one. Kinds keep their spelling, so two can differ only in case.
   */
  changedFunctions(
    after: number,
    through: number,
    catalog?: string,
  ): Promise<{ group: string; kind: string }[]>;
}
