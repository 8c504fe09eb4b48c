import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Act } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import type { UserSession } from '../../http/auth/user-session.js';
import { SERVER_LIMITS } from '../../limits.js';
import type { ProviderTokens } from '../../sign-in/identity-provider.js';
import type { SessionRecord, SessionStore } from '../../store/session-store.js';
import type { SessionRefresh } from './refresh-session.js';

/** A session on the pages of operators. */
export interface Session {
  /** Random; the cookie. Everything else that is secret follows from it. */
  readonly id: string;
  /** Who signed in: a token, found by its hash at each request, or a user. */
  readonly of: { tokenHash: string } | UserSession;
  /** Key in the forms of this session, which no other page knows. */
  readonly formKey: string;
  /** Milliseconds since 1970. */
  readonly expires: number;
}

/**
 * Sessions in the database, so that every process of a registry has them, and signing out ends one at once. The ID is
 * random and contains no data, so a cookie has nothing to read, forge or use as another kind of token. Only its hash
 * is stored.
 */
export class Sessions {
  readonly #store: SessionStore;
  readonly #refresh: SessionRefresh;

  constructor(store: SessionStore, refresh: SessionRefresh) {
    this.#store = store;
    this.#refresh = refresh;
  }

  /** Starts a session. Its ID cannot be shown again. */
  async begin(
    of: { tokenHash: string } | { user: string; tokens: ProviderTokens },
    act: Act,
    { expiresAt }: { expiresAt?: string | undefined } = {},
  ): Promise<Session> {
    const id = randomBytes(32).toString('base64url');
    const { maxSessions: max, maxSessionsOfToken: maxOfOne } = SERVER_LIMITS;
    const now = Date.parse(act.at);
    // A user whom the provider will not confirm again must sign in again.
    const isConfirmed = 'tokenHash' in of || of.tokens.refreshToken !== undefined;
    const expires = Math.min(
      now + (isConfirmed ? SERVER_LIMITS.sessionMilliseconds : SERVER_LIMITS.unconfirmedMilliseconds),
      expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(expiresAt),
    );
    const who =
      'tokenHash' in of
        ? of
        : { user: of.user, refreshToken: this.#refresh.seal(id, of.tokens), refreshedAt: act.at };
    const record: SessionRecord = {
      ...{ ...who, hash: sessionHash(id), createdAt: act.at, expiresAt: new Date(expires).toISOString() },
      ...defined({ address: act.origin?.address }),
    };
    await this.#store.beginSession(record, { maxOfOne, max }, act);
    return createSession(id, record);
  }

  /** Returns undefined if no session has this ID, it has expired, or the provider does not know the user any more. */
  async find(id: string, now: number): Promise<Session | undefined> {
    const record = await this.#store.session(sessionHash(id));
    if (record === undefined || Date.parse(record.expiresAt) <= now) return undefined;
    return (await this.#refresh.continues(id, record)) ? createSession(id, record) : undefined;
  }

  /** Returns the ID token with which a user signs out at the provider. */
  async idToken({ id }: Session): Promise<string | undefined> {
    const record = await this.#store.session(sessionHash(id));
    return record && this.#refresh.idToken(id, record);
  }

  /** Without an act, the session ends because its token is not valid, or another session replaces it. */
  async end(id: string, act?: Act): Promise<void> {
    await this.#store.endSession(sessionHash(id), act);
  }
}

function createSession(id: string, { tokenHash, user = '', ...record }: SessionRecord): Session {
  const of = tokenHash === undefined ? { ...record, user } : { tokenHash };
  const formKey = createHmac('sha256', id).update('form').digest('base64url');
  return { id, of, formKey, expires: Date.parse(record.expiresAt) };
}

/** Reports whether a form belongs to the session. */
export function belongsToSession({ formKey }: Session, given: string): boolean {
  return timingSafeEqual(Buffer.from(sessionHash(formKey)), Buffer.from(sessionHash(given)));
}

/** Returns what the database knows of a session's ID. */
export function sessionHash(id: string): string {
  return createHash('sha256').update(id).digest('hex');
}
