import type { CreatedToken } from '@krmhub/api/model';
import { openText, sealText } from '../../http/auth/sealed-text.js';
import { SERVER_LIMITS } from '../../limits.js';
import type { SecretStore } from '../../store/session-store.js';
import { type Session, sessionHash } from './sessions.js';

const PURPOSE = 'one-time secret';

/**
 * Secrets of new tokens, between the form that made one and the page that shows it once, which another process may
 * serve. They are encrypted with a key that follows from the session's ID: the database has only its hash, so that
 * only the browser with the cookie can read them. They end with the session.
 */
export class OneTimeSecrets {
  readonly #store: SecretStore;

  constructor(store: SecretStore) {
    this.#store = store;
  }

  async put(session: Session, token: CreatedToken, now: number): Promise<void> {
    const { maxSecretsOfSession: max, secretMilliseconds } = SERVER_LIMITS;
    const secret = {
      sealed: sealText(session.id, PURPOSE, JSON.stringify(token)),
      expiresAt: new Date(now + secretMilliseconds).toISOString(),
    };
    await this.#store.putSecret(secretPlace(session, token.id), secret, {
      now: new Date(now).toISOString(),
      max,
    });
  }

  /** Returns the token with its secret, only the first time. */
  async take(session: Session, id: string, now: number): Promise<CreatedToken | undefined> {
    const found = await this.#store.takeSecret(secretPlace(session, id));
    if (found === undefined || Date.parse(found.expiresAt) <= now) return undefined;
    return JSON.parse(openText(session.id, PURPOSE, found.sealed)) as CreatedToken;
  }
}

const secretPlace = ({ id }: Session, token: string) => ({ session: sessionHash(id), token });
