import type { Digest } from '../digests/digest.js';

/** The signer that a verification found. */
export type Signer =
  | { type: 'key'; fingerprint: Digest }
  | { type: 'identity'; issuer: string; subject: string };
