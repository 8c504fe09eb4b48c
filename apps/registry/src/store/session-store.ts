import type { Act, Time } from '@krmhub/catalog';

/** A session on the pages of signed-in users. */
export interface SessionRecord {
  /** SHA-256 of its ID, in hexadecimal: nothing that is stored signs anybody in. */
  hash: string;
  /** Hash of the token that signed in. Absent in the session of a user. */
  tokenHash?: string;
  /** ID of the user who signed in. */
  user?: string;
  createdAt: Time;
  expiresAt: Time;
  /** When the provider last said who the user is. */
  refreshedAt?: Time;
  /** The refresh token of the provider, sealed with a key that only the browser has. */
  refreshToken?: string;
  /** Address of the client that signed in. */
  address?: string;
}

/** A secret for one session, which only the browser with the session's ID can read. */
export interface SealedSecret {
  sealed: string;
  expiresAt: Time;
}

/** Sessions on the pages of signed-in users, and secrets that wait for them. */
export interface SessionStore {
  /**
   * Ends expired sessions, then the oldest ones above the limits, which count the new session: `max` of the users of one
   * provider, and of tokens.
   */
  beginSession(session: SessionRecord, limits: { maxOfOne: number; max: number }, act: Act): Promise<void>;
  /** Returns also an expired session. */
  session(hash: string): Promise<SessionRecord | undefined>;
  /** Returns the sessions of a user, the newest first. */
  sessionsOfUser(user: string): Promise<SessionRecord[]>;
  /**
   * Replaces the refresh token of a session that still has `replaces`. Returns false if another process was faster, or
   * the session has ended.
   */
  refreshSession(
    hash: string,
    change: { replaces: string | undefined; refreshToken?: string | undefined; at: Time },
  ): Promise<boolean>;
  /** Deletes the secrets of the session as well. Without an act, the audit log has no row. */
  endSession(hash: string, act?: Act): Promise<void>;
  /** Ends the sessions of a user, except one. Returns how many. */
  endSessionsOfUser(user: string, act: Act, except?: string): Promise<number>;
  /** Adds a secret to a session, if it has not ended. Deletes expired secrets, then its oldest above the limit. */
  putSecret(
    place: { session: string; token: string },
    secret: SealedSecret,
    limits: { now: Time; max: number },
  ): Promise<void>;
  /** Deletes a secret of a session, and returns it. */
  takeSecret(place: { session: string; token: string }): Promise<SealedSecret | undefined>;
}
