import type { UserIdentity } from '../access/team-members.js';
import type { Act } from './audit-store.js';
import type { Time } from './records.js';

/** What a provider or a directory says about a user. */
export interface FoundUser extends UserIdentity {
  /** As the provider has it. Others can have the same. */
  name: string;
  /** As the provider has it; only shown. */
  email?: string;
}

/** A person who signed in, or whom a directory announced. The issuer and the subject never change. */
export interface UserRecord extends FoundUser {
  /** UUID. */
  id: string;
  createdAt: Time;
  /** When the provider or the directory last said who this is, with the groups. */
  confirmedAt: Time;
  signedInAt?: Time;
  suspendedAt?: Time;
  suspendedBy?: string;
  /** What the directory that manages the user says. Absent if none does. */
  directory?: { isActive: boolean; groups: readonly string[] };
}

/** Reads users. */
export interface UserReader {
  user(id: string): Promise<UserRecord | undefined>;
  /** Returns users after one with the given ID, by ID; only those with a text in the name or the e-mail address. */
  users(page: {
    after?: string | undefined;
    limit: number;
    text?: string | undefined;
  }): Promise<UserRecord[]>;
}

/** Stores what providers and directories say about users. */
export interface UserConfirmer {
  /**
   * Adds a user, or replaces what is known of one. Who is suspended stays so. Rejects with `forbidden` if
   * `maxUsers` of the provider have signed in, and this would be another one. Users of a directory and suspended ones do
   * not count.
   */
  confirmUser(
    found: FoundUser,
    at: { at: Time; isSignIn: boolean; maxUsers?: number | undefined },
  ): Promise<UserRecord>;
}

export interface UserStore extends UserReader, UserConfirmer {
  /**
   * Suspends a user, or ends that, as an administrator: whom the directory suspends stays suspended. Returns the
   * current user; undefined for an unknown ID.
   */
  suspendUser(id: string, isSuspended: boolean, act: Act): Promise<UserRecord | undefined>;
}
