import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { TokenRecord } from '@krmhub/catalog';
import { SERVER_LIMITS } from '../../limits.js';

/** A session on the pages of operators. */
export interface Session {
  /** Hash of the token's secret, with which each request looks up the token. */
  readonly tokenHash: string;
  /** Key in the forms of this session, which no other page knows. */
  readonly formKey: string;
  /** Milliseconds since 1970. */
  readonly expires: number;
}

/**
 * Sessions in memory. Signing out ends a session at once, and a restart ends all. The ID is random and contains no
 * data, so a cookie has nothing to read, forge or use as another kind of token. Only the hash of the ID is stored.
 */
export class Sessions {
  /** By the hash of the ID, oldest first. */
  readonly #sessions = new Map<string, Session>();

  /** Starts a session and returns its ID, which cannot be shown again. */
  begin(
    token: Pick<TokenRecord, 'expiresAt'>,
    tokenHash: string,
    now: number,
  ): { id: string; session: Session } {
    this.#evictOldest(tokenHash, now);
    const id = randomBytes(32).toString('base64url');
    const session: Session = {
      tokenHash,
      formKey: randomBytes(32).toString('base64url'),
      expires: Math.min(
        now + SERVER_LIMITS.sessionMilliseconds,
        token.expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(token.expiresAt),
      ),
    };
    this.#sessions.set(keyOf(id), session);
    return { id, session };
  }

  /** Returns undefined if no session has this ID, or it has expired. */
  find(id: string, now: number): Session | undefined {
    const session = this.#sessions.get(keyOf(id));
    if (session !== undefined && session.expires <= now) {
      this.end(id);
      return undefined;
    }
    return session;
  }

  end(id: string): void {
    this.#sessions.delete(keyOf(id));
  }

  get size(): number {
    return this.#sessions.size;
  }

  #evictOldest(tokenHash: string, now: number): void {
    const ofToken: string[] = [];
    for (const [key, session] of this.#sessions) {
      if (session.expires <= now) this.#sessions.delete(key);
      else if (session.tokenHash === tokenHash) ofToken.push(key);
    }
    for (const key of ofToken.slice(0, Math.max(ofToken.length + 1 - SERVER_LIMITS.maxSessionsOfToken, 0))) {
      this.#sessions.delete(key);
    }
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size >= SERVER_LIMITS.maxSessions && oldest !== undefined)
      this.#sessions.delete(oldest);
  }
}

/** Reports whether a form belongs to the session. */
export function belongsToSession({ formKey }: Session, given: string): boolean {
  return timingSafeEqual(Buffer.from(keyOf(formKey)), Buffer.from(keyOf(given)));
}

function keyOf(id: string): string {
  return createHash('sha256').update(id).digest('hex');
}
