/**
 * SHA-256 digests, and canonical JSON to compare content.
 *
 * @module
 */

import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { Digest } from './is-digest.js';

export { DIGEST_PATTERN, type Digest, isDigest } from './is-digest.js';

/** Returns the digest of bytes, or of text as UTF-8. */
export function sha256(bytes: Uint8Array | string): Digest {
  return `sha256:${hash('sha256', bytes, 'hex')}`;
}

/**
 * Returns the canonical JSON (RFC 8785) of a value, to compare content. Throws a TypeError for values that are not
 * JSON.
 */
export function canonicalJson(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError('not a JSON value');
  return text;
}
