import type { Act, Time } from '@krmhub/catalog';
import type { SealedSignIn, SignInRecord } from './sign-in-store.js';

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
  /** The sign-in that the session is of, or that its token was made in. Its key is sealed with the ID of the session. */
  signIn?: SealedSignIn;
  /** When the provider last confirmed the user for that sign-in. */
  confirmedAt?: Time;
  /** Address of the client that signed in. */
  address?: string;
}

/** A secret for one session, which only the browser with the session's ID can read. */
export interface SealedSecret {
  sealed: string;
  expiresAt: Time;
}

/** Keeps the secrets that a page shows once. */
export interface SecretStore {
  /** Adds a secret to a session, if it has not ended. Deletes expired secrets, then its oldest above the limit. */
  putSecret(
    place: { session: string; token: string },
    secret: SealedSecret,
    limits: { now: Time; max: number },
  ): Promise<void>;
  /** Deletes a secret of a session, and returns it. */
  takeSecret(place: { session: string; token: string }): Promise<SealedSecret | undefined>;
}

/** The sessions of one user. */
export interface UserSessions {
  /** Returns the sessions of a user, the newest first. */
  sessionsOfUser(user: string): Promise<SessionRecord[]>;
  /** Ends the sessions of a user, except one. Returns how many. */
  endSessionsOfUser(user: string, act: Act, except?: string): Promise<number>;
}

/** Sessions on the pages of signed-in users, and secrets that wait for them. */
export interface SessionStore extends SecretStore, UserSessions {
  /**
   * Ends the session with the hash `replaces`, expired ones, then the oldest ones above the limits, which count the new
   * session: `max` of the users of one provider, and of tokens. Then deletes sign-ins to which nothing refers. `signIn` is
   * a new one, of this session. Rejects with `forbidden` for a user who is suspended, and ends nothing.
   */
  beginSession(
    session: SessionRecord,
    options: { maxOfOne: number; max: number; replaces?: string | undefined },
    act: Act,
    signIn?: SignInRecord,
  ): Promise<void>;
  /** Returns also an expired session. */
  session(hash: string): Promise<SessionRecord | undefined>;
  /** Deletes the secrets of the session as well. Without an act, the audit log has no row. */
  endSession(hash: string, act?: Act): Promise<void>;
}
