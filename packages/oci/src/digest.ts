import { createHash } from 'node:crypto';
import { KrmhubError } from '@krmhub/schema/error';

/** `sha256:` and 64, or `sha512:` and 128 lower-case hexadecimal digits: the algorithms that image-spec registers. */
export type OciDigest = `sha256:${string}` | `sha512:${string}`;

const PATTERN = /^(?:sha256:[a-f0-9]{64}|sha512:[a-f0-9]{128})$/;

export function isOciDigest(text: string): text is OciDigest {
  return PATTERN.test(text);
}

/** The digest of bytes, in the algorithm of another one or in sha256. */
export function computeDigest(bytes: Uint8Array, like: OciDigest | 'sha256' = 'sha256'): OciDigest {
  const algorithm = getAlgorithm(like);
  return `${algorithm}:${createHash(algorithm).update(bytes).digest('hex')}`;
}

/** The pieces as they come; it throws instead of the end where they are not the bytes of the digest. */
export async function* verifyContent(
  pieces: AsyncIterable<Uint8Array>,
  expected: { digest: OciDigest; size: number },
): AsyncIterable<Uint8Array> {
  const algorithm = getAlgorithm(expected.digest);
  const hash = createHash(algorithm);
  let size = 0;
  for await (const piece of pieces) {
    size += piece.byteLength;
    if (size > expected.size)
      throw digestMismatch(expected.digest, `it has more than the ${expected.size} bytes it should have`);
    hash.update(piece);
    yield piece;
  }
  if (size !== expected.size)
    throw digestMismatch(expected.digest, `it has ${size} bytes and not ${expected.size}`);
  const actual = `${algorithm}:${hash.digest('hex')}`;
  if (actual !== expected.digest) throw digestMismatch(expected.digest, `its digest is ${actual}`);
}

/** Whoever sent the bytes, or the way here, changed them. */
export function digestMismatch(digest: OciDigest, why: string): KrmhubError {
  return new KrmhubError(
    'digest-mismatch',
    `what the registry sent for ${digest} is something else: ${why}`,
    {
      hint: 'Try again; if it stays so, something between you and the registry changes its answers.',
    },
  );
}

function getAlgorithm(digest: OciDigest | 'sha256'): 'sha256' | 'sha512' {
  return digest.startsWith('sha512') ? 'sha512' : 'sha256';
}
