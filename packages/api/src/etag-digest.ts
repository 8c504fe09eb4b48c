import type { Digest } from '@krmhub/schema';
import type { HttpResponse } from './transport.js';

/** Returns the digest in an ETag without the suffix of a compressed response (RFC 9110, "ETag"). */
export function etagDigest(response: HttpResponse): Digest | undefined {
  const match = /^(?:W\/)?"sha256:([a-f0-9]{64})(?:-[a-z]+)?"$/.exec(response.headers.etag ?? '');
  return match === null ? undefined : `sha256:${match[1]}`;
}
