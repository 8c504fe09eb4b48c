import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { TokenRecord } from '@krmhub/catalog';
import { SERVER_LIMITS } from '../../limits.js';

/** Somebody who is signed in to the operators' pages. */
export interface Session {
  /** Hash of the secret of the token, by which the token is looked up for each request. */
  readonly tokenHash: string;
  /** What the forms of this session hold, and no other page can know. */
  readonly formKey: string;
  /** Milliseconds since 1970. */
  readonly expires: number;
}

/**
 * Who is signed in, in memory: a session ends at once when somebody signs out, and all end with the process. Its id is
 * random and says nothing, so that there is nothing in a cookie to be read, forged or taken for another kind of token;
 * what is kept of it is its hash.
 */
export class Sessions {
  /** By the hash of the id, who signed in first standing first. */
  readonly #sessions = new Map<string, Session>();

  /** Gives the id, which nothing can show again. */
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

  /** Undefined where there is none of this id, or it is over. */
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

/** Whether a form is one of this session. */
export function belongsToSession({ formKey }: Session, given: string): boolean {
  return timingSafeEqual(Buffer.from(keyOf(formKey)), Buffer.from(keyOf(given)));
}

function keyOf(id: string): string {
  return createHash('sha256').update(id).digest('hex');
}
