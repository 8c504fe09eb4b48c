import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts a text with a key that follows from a random secret, such as the ID of a session or a token. The database has
 * only the hash of the secret, so that only the client that has it can read the text. Each time, the result is another one.
 */
export function sealText(secret: string, purpose: string, text: string): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, deriveKey(secret, purpose), nonce);
  const bytes = [nonce, cipher.update(text), cipher.final()];
  return Buffer.concat([...bytes, cipher.getAuthTag()]).toString('base64url');
}

/** Throws for a text that was sealed with another secret, or that was changed. */
export function openText(secret: string, purpose: string, sealed: string): string {
  const bytes = Buffer.from(sealed, 'base64url');
  const decipher = createDecipheriv(CIPHER, deriveKey(secret, purpose), bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  const text = [decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()];
  return Buffer.concat(text).toString('utf8');
}

/** Returns undefined where `openText` throws. */
export function tryOpenText(secret: string, purpose: string, sealed: string): string | undefined {
  try {
    return openText(secret, purpose, sealed);
  } catch {
    return undefined;
  }
}

const deriveKey = (secret: string, purpose: string) =>
  Buffer.from(hkdfSync('sha256', secret, '', `krmhub ${purpose}`, 32));
