import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts a text with a key that follows from the ID of a session. The database has only the hash of the ID, so that
 * only the browser with the cookie can read it. Each time, the result is another one.
 */
export function sealText(session: string, purpose: string, text: string): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, deriveKey(session, purpose), nonce);
  const bytes = [nonce, cipher.update(text), cipher.final()];
  return Buffer.concat([...bytes, cipher.getAuthTag()]).toString('base64url');
}

/** Throws for a text that another session sealed, or that was changed. */
export function openText(session: string, purpose: string, sealed: string): string {
  const bytes = Buffer.from(sealed, 'base64url');
  const decipher = createDecipheriv(CIPHER, deriveKey(session, purpose), bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  const text = [decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()];
  return Buffer.concat(text).toString('utf8');
}

const deriveKey = (session: string, purpose: string) =>
  Buffer.from(hkdfSync('sha256', session, '', `krmhub ${purpose}`, 32));
