import type { Event, NewEvent, PolicyRecord } from './records.js';

/** Reads the signing policies of the registry. */
export interface PolicyReader {
  /** Returns the policies; undefined if none were ever applied. */
  policies(): Promise<PolicyRecord | undefined>;
  /** Reports whether policies were applied after an event and up to another. */
  appliedPolicies(after: number, through: number): Promise<boolean>;
}

/** Stores the signing policies of the registry. */
export interface PolicyStore extends PolicyReader {
  /**
   * Replaces all policies. Rejects with a RevisionConflict if the current revision is not the expected one (0 for
   * none).
   */
  applyPolicies(
    policies: Omit<PolicyRecord, 'revision'> & { expectedRevision: number; event: NewEvent },
  ): Promise<Event>;
}
