import type { Event, EventReader } from '@krmhub/catalog';
import type { SentError } from '../isolation/sent-error.js';

/** How the processes of one database reach each other. */
export interface SharedDatabase {
  /** Calls `onNotice` soon after another process has written something for all; it can be missed. */
  listen(onNotice: (about: Notice) => void): Listening;
  calls: CallRows;
  events: EventReader;
}

/** What a process needs to know of an event. */
export type FollowedEvent = Pick<Event, 'sequence' | 'type' | 'catalog' | 'serial'>;

/** What there is to read, or an event that was appended; `all` if notices may have been missed. */
export type Notice = 'events' | 'leader' | 'all' | { event: FollowedEvent };

export interface Listening {
  /** Whether notices come now. It can be true for some seconds after a connection broke. */
  readonly isConnected: boolean;
  close(): Promise<void>;
}

export interface LeaderCall {
  id: string;
  method: string;
  input: unknown;
}

export type CallOutcome = { result: unknown } | { error: SentError };

/** The calls of all processes in their database, and what the leader says of itself. A crash of the server may lose them. */
export interface CallRows {
  add(call: LeaderCall): Promise<void>;
  /** Tells all processes again that calls are waiting, or have an outcome. */
  remind(): Promise<void>;
  /** Returns the calls without an outcome. */
  open(): Promise<LeaderCall[]>;
  settle(id: string, outcome: CallOutcome): Promise<void>;
  /** Returns what is known of calls; those that were lost are missing. */
  outcomes(ids: readonly string[]): Promise<{ id: string; outcome: CallOutcome | undefined }[]>;
  delete(ids: readonly string[]): Promise<void>;
  /** Deletes calls that are older: nobody waits for them any more. */
  deleteOld(milliseconds: number): Promise<void>;
  /** `isNew`: the processes are told. */
  putStatus(status: unknown, isNew: boolean): Promise<void>;
  /** Returns the status that was put last, and how long ago in milliseconds by the clock of the database. */
  status(): Promise<{ status: unknown; age: number } | undefined>;
}
