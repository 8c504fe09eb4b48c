import { createHash } from 'node:crypto';
import { KrmhubError } from '@krmhub/schema/error';

/** `sha256:` and 64, or `sha512:` and 128 lower-case hexadecimal digits (the registered algorithms of image-spec). */
export type OciDigest = `sha256:${string}` | `sha512:${string}`;

const PATTERN = /^(?:sha256:[a-f0-9]{64}|sha512:[a-f0-9]{128})$/;

export function isOciDigest(text: string): text is OciDigest {
  return PATTERN.test(text);
}

/** Computes the digest of bytes with sha256, or with the algorithm of `like`. */
export function computeDigest(bytes: Uint8Array, like: OciDigest | 'sha256' = 'sha256'): OciDigest {
  const algorithm = getAlgorithm(like);
  return `${algorithm}:${createHash(algorithm).update(bytes).digest('hex')}`;
}

/** Passes chunks through, and throws at the end if size or digest do not match. */
export async function* verifyContent(
  pieces: AsyncIterable<Uint8Array>,
  expected: { digest: OciDigest; size: number },
): AsyncIterable<Uint8Array> {
  const algorithm = getAlgorithm(expected.digest);
  const hash = createHash(algorithm);
  let size = 0;
  for await (const piece of pieces) {
    size += piece.byteLength;
    if (size > expected.size) throw digestMismatch(expected.digest, `more than ${expected.size} bytes`);
    hash.update(piece);
    yield piece;
  }
  if (size !== expected.size)
    throw digestMismatch(expected.digest, `${size} bytes instead of ${expected.size}`);
  const actual = `${algorithm}:${hash.digest('hex')}`;
  if (actual !== expected.digest) throw digestMismatch(expected.digest, `it has the digest ${actual}`);
}

/** The error for content that does not match its digest. */
export function digestMismatch(digest: OciDigest, why: string): KrmhubError {
  return new KrmhubError('digest-mismatch', `the content does not match the digest ${digest}: ${why}`, {
    hint: 'Try again. If it fails again, a proxy may be changing the responses of the registry.',
  });
}

function getAlgorithm(digest: OciDigest | 'sha256'): 'sha256' | 'sha512' {
  return digest.startsWith('sha512') ? 'sha512' : 'sha256';
}
