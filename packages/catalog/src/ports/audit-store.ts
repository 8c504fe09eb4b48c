import type { AuditAction, Digest, RequestOrigin } from '@krmhub/schema';
import type { Time } from './records.js';

/** Who changes something, when, and from where. */
export interface Act {
  at: Time;
  /** Name of the actor. */
  by: string;
  /** Absent for the registry itself. */
  origin?: RequestOrigin | undefined;
}

/** An act for the audit log. It has no secret, and no content of a document. */
export interface NewAuditRow extends Act {
  action: AuditAction;
  /** A type and a name, such as `release/example.com/SetLabels@1.0.0`. */
  object: string;
  outcome: 'done' | 'refused';
  detail?: AuditDetail | undefined;
}

export type AuditDetail = Readonly<Record<string, string | number>>;

/** The newest row of the log. It changes with every row. */
export interface AuditHead {
  /** Counts from 1 without gaps. Only the oldest rows are deleted. */
  sequence: number;
  /** SHA-256 of the hash of the row before and of the content of this one. */
  hash: Digest;
}

export interface AuditRow extends AuditHead, RequestOrigin {
  at: Time;
  /** Name of the token; `krmhub` for the registry itself, and `anonymous` for clients without a token. */
  actor: string;
  action: AuditAction;
  object: string;
  outcome: 'done' | 'refused';
  detail?: AuditDetail;
}

/** Which rows to return. Absent parts match all rows. */
export interface AuditFilter {
  /** Name of an actor, or ID of a credential. */
  actor?: string | undefined;
  /** An action, or its part before the dot. */
  action?: string | undefined;
  /** Beginning of the object. */
  object?: string | undefined;
  outcome?: 'done' | 'refused' | undefined;
  /** First and last time. */
  since?: Time | undefined;
  until?: Time | undefined;
}

export interface AuditQuery {
  /** Sequence before which the page begins; absent for the newest row. */
  before?: number | undefined;
  limit: number;
  /** Rows to examine at most, so that a page can have fewer rows than its limit. By default, 200,000. */
  maxExamined?: number;
}

export interface AuditPage {
  /** Newest first. */
  rows: AuditRow[];
  /** Sequence before which the next page begins; absent at the end. */
  next?: number;
}

/** Reads the audit log. */
export interface AuditReader {
  /** Returns a page of the rows that match, newest first. */
  auditRows(filter: AuditFilter, query: AuditQuery): Promise<AuditPage>;
}

/** Deletes old rows of the audit log. */
export interface AuditPruner {
  /** Returns undefined for a log without rows. */
  auditHead(): Promise<AuditHead | undefined>;
  /**
   * Deletes the rows before the first one at or after a time, at most `limit`, never the newest one. Adds a row with the
   * sequence and the hash of the last deleted one, with which the rest of the chain can be verified. Returns how many
   * rows it deleted.
   */
  pruneAudit(options: { before: Time; at: Time; limit: number }): Promise<number>;
}

/** Records the keys with which the registry signs. */
export interface KeyRecorder {
  /** Records the registry keys that are not in the log yet. */
  recordKeys(keys: readonly { fingerprint: string; validFrom: Time }[], at: Time): Promise<void>;
}

/** Records acts in the audit log. */
export interface ActRecorder {
  /** Records an act that no other method commits. */
  recordAct(row: NewAuditRow): Promise<void>;
}

/**
 * The audit log. A method of another port that commits an act adds its row in the same transaction, so that no act is
 * without a row.
 */
export interface AuditStore extends ActRecorder, AuditReader, AuditPruner, KeyRecorder {}
