import { type TokenRecord, USER_TOKEN_SCOPES, type UserRecord, userLabel } from '@krmhub/catalog';

/** Settings of the registry that decide about users. */
export interface UserSettings {
  /** Days after which a user must sign in again, because the provider may have changed the groups. */
  oidcConfirmDays?: number;
}

/** The session of a user. */
export interface UserSession {
  /** SHA-256 of its ID, in hexadecimal. */
  hash: string;
  /** ID of the user. */
  user: string;
  createdAt: string;
  expiresAt: string;
}

const PREFIX = 'session/';

/** Returns a token that stands for the session of a user: it has every scope that the user has. */
export function sessionToken({ hash, createdAt, expiresAt }: UserSession, user: UserRecord): TokenRecord {
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
  };
}

/** For messages, such as `the token "ci"`. */
export function credentialText({ id, name, user }: Pick<TokenRecord, 'id' | 'name' | 'user'>): string {
  return user !== undefined && id.startsWith(PREFIX) ? `the user "${user.name}"` : `the token "${name}"`;
}
