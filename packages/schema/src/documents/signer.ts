import type { Digest } from '../digests/digest.js';

/** Who signed something, as its verification found. */
export type Signer =
  | { type: 'key'; fingerprint: Digest }
  | { type: 'identity'; issuer: string; subject: string };
