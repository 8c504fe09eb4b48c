import type { Event } from './records.js';

/** The log of everything that changed. Every other port writes to it in the transactions of its changes. */
export interface EventStore {
  /** Yanks, unyanks, takedowns and withdrawn snapshots after a sequence, oldest first. */
  revocations(after: number, limit: number): Promise<Event[]>;
  /** Events after a sequence, oldest first. */
  events(after: number, limit: number): Promise<Event[]>;
  /** Sequence of the newest event; 0 where there is none. */
  lastEvent(): Promise<number>;
  /**
   * The functions that any `release.*` event after a sequence and up to another touched. Of a catalog also those whose
   * entries in its sources changed, and every one that its sources have in a group of which this registry got the first
   * release or lost the last one. Kinds are as they are spelled, so that two may differ by case only.
   */
  changedFunctions(
    after: number,
    through: number,
    catalog?: string,
  ): Promise<{ group: string; kind: string }[]>;
}
