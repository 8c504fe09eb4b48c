import type { Act } from '@krmhub/catalog';

/** A session on the pages of operators. */
export interface SessionRecord {
  /** SHA-256 of its ID, in hexadecimal: nothing that is stored signs anybody in. */
  hash: string;
  /** Hash of the token that signed in. */
  tokenHash: string;
  /** UTC. */
  expiresAt: string;
}

/** A secret for one session, which only the browser with the session's ID can read. */
export interface SealedSecret {
  sealed: string;
  /** UTC. */
  expiresAt: string;
}

/** Sessions on the pages of operators, and secrets that wait for them. */
export interface SessionStore {
  /** Ends expired sessions, then the oldest ones above the limits, which count the new session. */
  beginSession(session: SessionRecord, limits: { maxOfToken: number; max: number }, act: Act): Promise<void>;
  /** Returns also an expired session. */
  session(hash: string): Promise<SessionRecord | undefined>;
  /** Deletes the secrets of the session as well. Without an act, the audit log has no row. */
  endSession(hash: string, act?: Act): Promise<void>;
  /** Adds a secret to a session, if it has not ended. Deletes expired secrets, then its oldest above the limit. */
  putSecret(
    place: { session: string; token: string },
    secret: SealedSecret,
    limits: { now: string; max: number },
  ): Promise<void>;
  /** Deletes a secret of a session, and returns it. */
  takeSecret(place: { session: string; token: string }): Promise<SealedSecret | undefined>;
}
