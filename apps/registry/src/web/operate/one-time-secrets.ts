import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { CreatedToken } from '@krmhub/api/model';
import { SERVER_LIMITS } from '../../limits.js';
import type { SessionStore } from '../../store/session-store.js';
import { type Session, sessionHash } from './sessions.js';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Secrets of new tokens, between the form that made one and the page that shows it once, which another process may
 * serve. They are encrypted with a key that follows from the session's ID: the database has only its hash, so that
 * only the browser with the cookie can read them. They end with the session.
 */
export class OneTimeSecrets {
  readonly #store: Pick<SessionStore, 'putSecret' | 'takeSecret'>;

  constructor(store: Pick<SessionStore, 'putSecret' | 'takeSecret'>) {
    this.#store = store;
  }

  async put(session: Session, token: CreatedToken, now: number): Promise<void> {
    const { maxSecretsOfSession: max, secretMilliseconds } = SERVER_LIMITS;
    const secret = {
      sealed: seal(session, JSON.stringify(token)),
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
    return JSON.parse(open(session, found.sealed)) as CreatedToken;
  }
}

const secretPlace = ({ id }: Session, token: string) => ({ session: sessionHash(id), token });

const deriveKey = ({ id }: Session) => Buffer.from(hkdfSync('sha256', id, '', 'krmhub one-time secret', 32));

function seal(session: Session, text: string): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, deriveKey(session), nonce);
  const bytes = [nonce, cipher.update(text), cipher.final()];
  return Buffer.concat([...bytes, cipher.getAuthTag()]).toString('base64url');
}

function open(session: Session, sealed: string): string {
  const bytes = Buffer.from(sealed, 'base64url');
  const decipher = createDecipheriv(CIPHER, deriveKey(session), bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  const text = [decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()];
  return Buffer.concat(text).toString('utf8');
}
