/**
 * Reads the public keys of signers, and rejects weak ones.
 *
 * @module
 */

import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import { defined } from '../defined.js';
import { KrmhubError } from '../diagnostics/error.js';
import type { Digest } from '../digests/digest.js';

export interface PublicKey {
  key: KeyObject;
  /** SHA-256 of the key as SubjectPublicKeyInfo in DER (RFC 5280, 4.1.2.7). */
  fingerprint: Digest;
  /** PEM with a single line break at the end. */
  pem: string;
}

/** The supported curves and sizes. Other keys are rejected, because no one could verify their signatures. */
const EC_CURVES = ['prime256v1', 'secp384r1', 'secp521r1'];
/** Maximum number of characters of a key file. */
export const MAX_KEY_LENGTH = 65_536;
const MIN_RSA_BITS = 2_048;

/**
 * Parses a public key in PEM (`BEGIN PUBLIC KEY`). Throws `invalid-document` for other text and for weak keys. `name`
 * identifies the key in messages.
 */
export function readPublicKey(text: string, name: string): PublicKey {
  if (text.length > MAX_KEY_LENGTH) throw invalidKey(name, 'it is too long');
  if (/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)) {
    throw new KrmhubError('invalid-document', `${name} is a private key, expected a public key`, {
      hint: 'Do not share the private key. Use the file with the extension .pub.',
    });
  }
  const blocks = text.match(/-----BEGIN PUBLIC KEY-----[\s\S]*?-----END PUBLIC KEY-----/g) ?? [];
  if (blocks.length !== 1) {
    throw invalidKey(
      name,
      blocks.length === 0 ? 'it has no line "BEGIN PUBLIC KEY"' : 'it contains several keys',
    );
  }
  let key: KeyObject;
  try {
    key = createPublicKey(blocks[0]!);
  } catch (cause) {
    throw invalidKey(name, 'its content is corrupt', cause);
  }
  return publicKey(key, name);
}

/** Throws `invalid-document` for unsupported key types. */
export function publicKey(key: KeyObject, name: string): PublicKey {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
  const known =
    (type === 'ec' && EC_CURVES.includes(details?.namedCurve ?? '')) ||
    (type === 'rsa' && (details?.modulusLength ?? 0) >= MIN_RSA_BITS) ||
    type === 'ed25519';
  if (!known) {
    const what = type === 'rsa' ? `RSA of ${details?.modulusLength} bits` : (details?.namedCurve ?? type);
    throw invalidKey(name, `unsupported key type ${what}; \`krmhub keygen\` creates ECDSA P-256 keys`);
  }
  const der = key.export({ type: 'spki', format: 'der' });
  return {
    key,
    fingerprint: `sha256:${createHash('sha256').update(der).digest('hex')}`,
    pem: String(key.export({ type: 'spki', format: 'pem' })),
  };
}

/** Returns the key hint of a bundle: the fingerprint in base64, as in cosign. */
export function publicKeyHint({ fingerprint }: PublicKey): string {
  return Buffer.from(fingerprint.slice('sha256:'.length), 'hex').toString('base64');
}

function invalidKey(name: string, reason: string, cause?: unknown): KrmhubError {
  return new KrmhubError('invalid-document', `${name} is not a public key: ${reason}`, {
    hint: 'Use a PEM file, for example one that `krmhub keygen` or `cosign generate-key-pair` created.',
    ...defined({ cause }),
  });
}
