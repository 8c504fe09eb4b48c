import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';

/** `sha256:` and 64 lower-case hexadecimal digits. */
export type Digest = `sha256:${string}`;

export const DIGEST_PATTERN = /^sha256:[a-f0-9]{64}$/;

export function isDigest(text: string): text is Digest {
  return DIGEST_PATTERN.test(text);
}

/** Digest of exact bytes; text is taken as UTF-8. */
export function sha256(bytes: Uint8Array | string): Digest {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

/** RFC 8785: the one text of a JSON value, for comparing content. Throws a TypeError for what JSON cannot say. */
export function canonicalJson(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError('not a JSON value');
  return text;
}
