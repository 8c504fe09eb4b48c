import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Act, TokenRecord } from '@krmhub/catalog';
import { SERVER_LIMITS } from '../../limits.js';
import type { SessionStore } from '../../store/session-store.js';

/** A session on the pages of operators. */
export interface Session {
  /** Random; the cookie. Everything else that is secret follows from it. */
  readonly id: string;
  /** Hash of the token's secret, with which each request looks up the token. */
  readonly tokenHash: string;
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
  async begin(token: Pick<TokenRecord, 'expiresAt'>, tokenHash: string, act: Act): Promise<Session> {
    const now = Date.parse(act.at);
    const id = randomBytes(32).toString('base64url');
    const expires = Math.min(
      now + SERVER_LIMITS.sessionMilliseconds,
      token.expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(token.expiresAt),
    );
    const { maxSessions: max, maxSessionsOfToken: maxOfToken } = SERVER_LIMITS;
    const record = { hash: sessionHash(id), tokenHash, expiresAt: new Date(expires).toISOString() };
    await this.#store.beginSession(record, { maxOfToken, max }, act);
    return createSession(id, tokenHash, expires);
  }

  /** Returns undefined if no session has this ID, or it has expired. */
  async find(id: string, now: number): Promise<Session | undefined> {
    const record = await this.#store.session(sessionHash(id));
    if (record === undefined || Date.parse(record.expiresAt) <= now) return undefined;
    return createSession(id, record.tokenHash, Date.parse(record.expiresAt));
  }

  /** Without an act, the session ends because its token is not valid, or another session replaces it. */
  async end(id: string, act?: Act): Promise<void> {
    await this.#store.endSession(sessionHash(id), act);
  }
}

function createSession(id: string, tokenHash: string, expires: number): Session {
  return { id, tokenHash, formKey: createHmac('sha256', id).update('form').digest('base64url'), expires };
}

/** Reports whether a form belongs to the session. */
export function belongsToSession({ formKey }: Session, given: string): boolean {
  return timingSafeEqual(Buffer.from(sessionHash(formKey)), Buffer.from(sessionHash(given)));
}

/** Returns what the database knows of a session's ID. */
export function sessionHash(id: string): string {
  return createHash('sha256').update(id).digest('hex');
}
