import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import { KrmhubError } from '../diagnostics/error.js';
import type { Digest } from '../digests/digest.js';

export interface PublicKey {
  key: KeyObject;
  /** SHA-256 of the key as SubjectPublicKeyInfo in DER (RFC 5280, 4.1.2.7). */
  fingerprint: Digest;
  /** PEM with one line end. */
  pem: string;
}

/** The curves and sizes that signatures are checked with; others are refused, for no one could check them later. */
const EC_CURVES = ['prime256v1', 'secp384r1', 'secp521r1'];
/** Characters of a key file. */
export const MAX_KEY_LENGTH = 65_536;
const MIN_RSA_BITS = 2_048;

/**
 * A public key in PEM (`BEGIN PUBLIC KEY`). Throws `invalid-document` for anything else, and for keys that are too weak.
 * `name` says whose it is.
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

/** Throws `invalid-document` for kinds of keys that are not taken. */
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

/** What a bundle names a key by: the fingerprint in base64, as cosign has it. */
export function publicKeyHint({ fingerprint }: PublicKey): string {
  return Buffer.from(fingerprint.slice('sha256:'.length), 'hex').toString('base64');
}

function invalidKey(name: string, reason: string, cause?: unknown): KrmhubError {
  return new KrmhubError('invalid-document', `${name} is not a public key: ${reason}`, {
    hint: 'Use a PEM file, for example one that `krmhub keygen` or `cosign generate-key-pair` created.',
    ...(cause === undefined ? {} : { cause }),
  });
}
