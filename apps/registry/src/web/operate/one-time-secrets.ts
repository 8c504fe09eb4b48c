import type { CreatedToken } from '@krmhub/api/model';
import { SERVER_LIMITS } from '../../limits.js';
import type { Session } from './sessions.js';

interface Waiting {
  token: CreatedToken;
  /** Milliseconds since 1970. */
  until: number;
}

/**
 * Secrets of new tokens, between the form that made one and the page that shows it once. They are only in memory, end
 * with the session, and no other session can take them.
 */
export class OneTimeSecrets {
  readonly #waiting = new WeakMap<Session, Map<string, Waiting>>();

  put(session: Session, token: CreatedToken, now: number): void {
    const { maxSecretsOfSession, secretMilliseconds } = SERVER_LIMITS;
    const waiting = this.#waiting.get(session) ?? new Map<string, Waiting>();
    this.#waiting.set(session, waiting);
    const [oldest] = waiting.keys();
    if (waiting.size >= maxSecretsOfSession && oldest !== undefined) waiting.delete(oldest);
    waiting.set(token.id, { token, until: now + secretMilliseconds });
  }

  /** Returns the token with its secret, only the first time. */
  take(session: Session, id: string, now: number): CreatedToken | undefined {
    const waiting = this.#waiting.get(session);
    const found = waiting?.get(id);
    waiting?.delete(id);
    return found === undefined || found.until <= now ? undefined : found.token;
  }
}
