import type { Event, NewEvent, PolicyRecord } from './records.js';

/** The signing policies of the registry. */
export interface PolicyStore {
  /** Undefined where none were ever applied. */
  policies(): Promise<PolicyRecord | undefined>;
  /** Reports whether policies were applied after an event and up to another. */
  appliedPolicies(after: number, through: number): Promise<boolean>;
  /** Replaces all policies. Rejects with a RevisionConflict where those before are not the expected ones, 0 for none. */
  applyPolicies(
    policies: Omit<PolicyRecord, 'revision'> & { expectedRevision: number; event: NewEvent },
  ): Promise<Event>;
}
