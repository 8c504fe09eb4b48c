import { type TokenRecord, USER_TOKEN_SCOPES, type UserRecord, userLabel } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import type { OpenSignIn } from './open-sign-in.js';

/** Settings of the registry that decide about users. */
export interface UserSettings {
  /**
   * Days after which a user must sign in again whose provider cannot be asked, because it may have changed the groups. 0 for
   * an hour.
   */
  oidcConfirmDays?: number;
  /** The identity providers; a directory (SCIM) manages the users of the first one. */
  signIn?: readonly { issuer: string }[];
  /** Users of each identity provider that may sign in, 0 for no limit. */
  maxUsers?: number;
}

/** The session of a user. */
export interface UserSession {
  /** SHA-256 of its ID, in hexadecimal. */
  hash: string;
  /** ID of the user. */
  user: string;
  createdAt: string;
  expiresAt: string;
  /** The sign-in that began it. */
  signIn?: OpenSignIn;
  /** When the provider last confirmed the user for that sign-in. */
  confirmedAt?: string;
}

const PREFIX = 'session/';

/** Returns the session of a user as a token with every scope that the user has. */
export function sessionToken(session: UserSession, user: UserRecord): TokenRecord {
  const { hash, createdAt, expiresAt, signIn, confirmedAt = createdAt } = session;
  const name = userLabel(user);
  return {
    id: `${PREFIX}${hash.slice(0, 16)}`,
    name,
    scopes: [...USER_TOKEN_SCOPES],
    groups: ['*'],
    repositories: ['*', 'catalogs/*'],
    user,
    createdAt,
    createdBy: name,
    expiresAt,
    ...defined({ signIn: signIn && { id: signIn.id, key: '', confirmedAt } }),
  };
}

/** Whether a token is the session of a user, and no personal token, which has limits of its own. */
export function isSessionToken({ id, user }: TokenRecord): boolean {
  return user !== undefined && id.startsWith(PREFIX);
}

/** Whether a user signed in to get what a request has: a session, or the token of `krmhub login`. */
export function isSignedIn(token: TokenRecord): boolean {
  return isSessionToken(token) || (token.user !== undefined && token.kind === 'login');
}

/** For messages, such as `the token "ci"`. */
export function credentialText(token: TokenRecord): string {
  return isSessionToken(token) ? `the user "${token.user?.name}"` : `the token "${token.name}"`;
}
