/** Digests as text, without the code that computes them, for programs that have to start fast. */

/** `sha256:` and 64 lower-case hexadecimal digits. */
export type Digest = `sha256:${string}`;

export const DIGEST_PATTERN = /^sha256:[a-f0-9]{64}$/;

export function isDigest(text: string): text is Digest {
  return DIGEST_PATTERN.test(text);
}
