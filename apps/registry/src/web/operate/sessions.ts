import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Act } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import {
  isRecentlyConfirmed,
  type OpenSignIn,
  openSignIn,
  sealSignIn,
} from '../../http/auth/open-sign-in.js';
import type { UserSession } from '../../http/auth/user-session.js';
import { SERVER_LIMITS } from '../../limits.js';
import type { ProviderTokens } from '../../sign-in/identity-provider.js';
import type { SignIns } from '../../sign-in/sign-ins.js';
import type { SessionRecord, SessionStore } from '../../store/session-store.js';

/** Of a token. */
export interface TokenSession {
  tokenHash: string;
  /** The sign-in in which the token was made. */
  signIn?: OpenSignIn | undefined;
}

/** A session on the pages of operators. */
export interface Session {
  /** Random; the cookie. Everything else that is secret follows from it. */
  readonly id: string;
  /** Who signed in: a token, found by its hash at each request, or a user. */
  readonly of: TokenSession | UserSession;
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
  readonly #signIns: SignIns;

  constructor(store: SessionStore, signIns: SignIns) {
    this.#store = store;
    this.#signIns = signIns;
  }

  /** Starts a session, which can replace another one. Its ID cannot be shown again. */
  async begin(
    of: TokenSession | { user: string; tokens: ProviderTokens },
    act: Act,
    { expiresAt, replaces: former }: { expiresAt?: string | undefined; replaces?: string | undefined } = {},
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
    const begun = 'tokenHash' in of ? undefined : this.#signIns.begin(of.user, of.tokens);
    const { signIn } = begun ?? (of as TokenSession);
    const who = 'tokenHash' in of ? { tokenHash: of.tokenHash } : { user: of.user };
    const record: SessionRecord = {
      ...{ ...who, hash: sessionHash(id), createdAt: act.at, expiresAt: new Date(expires).toISOString() },
      ...defined({ signIn: signIn && sealSignIn(id, signIn), address: act.origin?.address }),
    };
    const replaces = former === undefined ? undefined : sessionHash(former);
    await this.#store.beginSession(record, { maxOfOne, max, replaces }, act, begun?.record);
    return createSession(id, record, signIn);
  }

  /** Returns undefined if no session has this ID, it has expired, or the provider does not know the user any more. */
  async find(id: string, now: number): Promise<Session | undefined> {
    const record = await this.#store.session(sessionHash(id));
    if (record === undefined || Date.parse(record.expiresAt) <= now) return undefined;
    if (record.signIn === undefined) return createSession(id, record, undefined);
    const signIn = openSignIn(id, record.signIn);
    const confirmedAt = Date.parse(record.confirmedAt ?? '');
    if (signIn === undefined) return undefined;
    if (!isRecentlyConfirmed(confirmedAt, now) && !(await this.#continues(record, signIn, now)))
      return undefined;
    return createSession(id, record, signIn);
  }

  /** Asks the provider about the user. A session that it does not confirm ends, at the latest after an hour. */
  async #continues({ hash }: SessionRecord, signIn: OpenSignIn, now: number): Promise<boolean> {
    const state = await this.#signIns.check(signIn);
    if (state?.problem?.code === 'unauthorized') await this.#store.endSession(hash);
    if (state === undefined || now - state.confirmedAt >= SERVER_LIMITS.unconfirmedMilliseconds) return false;
    // It may have ended meanwhile.
    return (await this.#store.session(hash)) !== undefined;
  }

  /** Returns the ID token with which a user signs out at the provider. */
  async idToken({ of: { signIn } }: Session): Promise<string | undefined> {
    return signIn && this.#signIns.idToken(signIn);
  }

  /** Without an act, the session ends because its token is not valid. */
  async end(id: string, act?: Act): Promise<void> {
    await this.#store.endSession(sessionHash(id), act);
  }
}

function createSession(
  id: string,
  { tokenHash, user = '', signIn: _, ...record }: SessionRecord,
  signIn: OpenSignIn | undefined,
): Session {
  const of = tokenHash === undefined ? { ...record, user, ...defined({ signIn }) } : { tokenHash, signIn };
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
