import type { Event, NewEvent, PolicyRecord } from './records.js';

/** Stores the signing policies of the registry. */
export interface PolicyStore {
  /** Returns the policies; undefined if none were ever applied. */
  policies(): Promise<PolicyRecord | undefined>;
  /** Reports whether policies were applied after an event and up to another. */
  appliedPolicies(after: number, through: number): Promise<boolean>;
  /**
   * Replaces all policies. Rejects with a RevisionConflict if the current revision is not the expected one (0 for
   * none).
   */
  applyPolicies(
    policies: Omit<PolicyRecord, 'revision'> & { expectedRevision: number; event: NewEvent },
  ): Promise<Event>;
}
