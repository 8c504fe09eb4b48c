import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Act } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import type { UserSession } from '../../http/auth/user-session.js';
import { SERVER_LIMITS } from '../../limits.js';
import type { SessionRecord, SessionStore } from '../../store/session-store.js';

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

  constructor(store: SessionStore) {
    this.#store = store;
  }

  /** Starts a session. Its ID cannot be shown again. */
  async begin(
    of: { tokenHash: string } | { user: string },
    act: Act,
    { expiresAt }: { expiresAt?: string | undefined } = {},
  ): Promise<Session> {
    const id = randomBytes(32).toString('base64url');
    const expires = Math.min(
      Date.parse(act.at) + SERVER_LIMITS.sessionMilliseconds,
      expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(expiresAt),
    );
    const { maxSessions: max, maxSessionsOfToken: maxOfOne } = SERVER_LIMITS;
    const record: SessionRecord = {
      ...{ ...of, hash: sessionHash(id), createdAt: act.at, expiresAt: new Date(expires).toISOString() },
      ...defined({ address: act.origin?.address }),
    };
    await this.#store.beginSession(record, { maxOfOne, max }, act);
    return createSession(id, record);
  }

  /** Returns undefined if no session has this ID, or it has expired. */
  async find(id: string, now: number): Promise<Session | undefined> {
    const record = await this.#store.session(sessionHash(id));
    if (record === undefined || Date.parse(record.expiresAt) <= now) return undefined;
    return createSession(id, record);
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
