import type { AppliedDocument, Event, NewEvent } from './records.js';

/** Reads the signing policies of the registry. */
export interface PolicyReader {
  /** Returns the policies; undefined if none were ever applied. */
  policies(): Promise<AppliedDocument | undefined>;
  /** Reports whether policies were applied after an event and up to another. */
  appliedPolicies(after: number, through: number): Promise<boolean>;
}

/** Stores the Access document of the registry. */
export interface AccessStore {
  /** Returns the document; undefined if none was ever applied. */
  access(): Promise<AppliedDocument | undefined>;
  /** Reports whether a document was applied after an event and up to another. */
  appliedAccess(after: number, through: number): Promise<boolean>;
  /** As `applyPolicies`. */
  applyAccess(
    change: Omit<AppliedDocument, 'revision'> & { expectedRevision: number; event: NewEvent },
  ): Promise<Event>;
}

/** Stores the signing policies of the registry. */
export interface PolicyStore extends PolicyReader {
  /**
   * Replaces all policies. Rejects with a RevisionConflict if the current revision is not the expected one (0 for
   * none).
   */
  applyPolicies(
    policies: Omit<AppliedDocument, 'revision'> & { expectedRevision: number; event: NewEvent },
  ): Promise<Event>;
}
