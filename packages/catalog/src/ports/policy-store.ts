import type { OwnerClaimRecord } from '../access/owner-claims.js';
import type { Act } from './audit-store.js';
import type { DecidedThrough } from './event-store.js';
import type { AppliedDocument, Event, NewEvent } from './records.js';

/** Reads the signing policies of the registry. */
export interface PolicyReader {
  /** Returns the policies; undefined if none were ever applied. */
  policies(): Promise<AppliedDocument | undefined>;
  /** Reports whether policies were applied after an event. */
  appliedPolicies(after: number): Promise<boolean>;
}

/** Reads the Access document. */
export interface AccessDocumentReader {
  /** Returns the document; undefined if none was ever applied. */
  access(): Promise<AppliedDocument | undefined>;
}

/** Reads the Access document, and when it changed. */
export interface AccessReader extends AccessDocumentReader {
  /** Reports whether a document was applied after an event. */
  appliedAccess(after: number): Promise<boolean>;
}

/** Stores the Access document of the registry. */
export interface AccessStore extends AccessReader {
  /** Returns the catalogs with a snapshot that are not built since a document was applied, by name. */
  catalogsBehindAccess(): Promise<string[]>;
  /**
   * As `applyPolicies`. With `teams`, the tokens of all other teams are revoked, and their trusted publishers and claims
   * are removed. Also rejects with a RevisionConflict if the decision is outdated.
   */
  applyAccess(
    change: Omit<AppliedDocument, 'revision'> & {
      expectedRevision: number;
      event: NewEvent;
      origin?: Act['origin'];
      teams?: readonly string[];
      decided?: DecidedThrough | undefined;
    },
  ): Promise<Event>;
}

/** Reads who owns groups. */
export interface OwnerClaimReader {
  /** Returns all claims, by group in code unit order. */
  ownerClaims(): Promise<OwnerClaimRecord[]>;
}

/** Stores the claims of teams to groups. */
export interface OwnerClaimStore extends OwnerClaimReader {
  /**
   * Adds the claim to a group, or replaces another one. Rejects with a RevisionConflict if the group has a claim of
   * another team or time than that, or one that was checked since, or if the decision is outdated. Without an event,
   * nothing that rules depend on has changed.
   */
  putOwnerClaim(
    claim: OwnerClaimRecord,
    change?: {
      replaces?: OwnerClaimRecord | undefined;
      event?: NewEvent;
      /** What the event is in the audit log; absent for `owner.claim`. */
      action?: 'owner.claim' | 'owner.check';
      origin?: Act['origin'];
      decided?: DecidedThrough;
    },
  ): Promise<void>;
  /** Deletes a claim. Rejects with a RevisionConflict if the group has none, another one, or one that was checked since. */
  deleteOwnerClaim(claim: OwnerClaimRecord, event: NewEvent, origin?: Act['origin']): Promise<void>;
}

/** Stores the signing policies of the registry. */
export interface PolicyStore extends PolicyReader {
  /**
   * Replaces all policies. Rejects with a RevisionConflict if the current revision is not the expected one (0 for
   * none).
   */
  applyPolicies(
    policies: Omit<AppliedDocument, 'revision'> & {
      expectedRevision: number;
      event: NewEvent;
      origin?: Act['origin'];
    },
  ): Promise<Event>;
}
