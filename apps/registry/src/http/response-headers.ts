import { randomUUID } from 'node:crypto';
import { defined } from '@krmhub/schema/defined';

/** Returns the header fields of every response. RFC 6797: only a server with https may require https. */
export function commonHeaders(publicUrl: string | undefined): Record<string, string> {
  return {
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    ...defined({
      'Strict-Transport-Security': publicUrl?.startsWith('https:') ? 'max-age=31536000' : undefined,
    }),
  };
}

/** Policy of a response that does not set its own. */
export const DENY_ALL_POLICY = "default-src 'none'; frame-ancestors 'none'";

/**
 * Headers of responses to identified actors; they replace those of reads. With `no-referrer`, browsers would send forms
 * with `Origin: null`, and the registry could not recognize its own.
 */
export const PRIVATE_HEADERS = {
  'Cache-Control': 'private, no-store',
  'Referrer-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
} as const;

/** What a response to an identified actor depends on. */
export const PRIVATE_VARY = 'Authorization, Cookie';

/** All other reads are public and use no cookie, so pages of any origin may read them. */
export const READ_HEADERS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'ETag, Link, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id',
} as const;

const REQUEST_ID = /^[\w.:-]{1,64}$/;

/** Returns the request ID of the client if it is valid, otherwise a new one. */
export function chooseRequestId(given: string | undefined): string {
  return given !== undefined && REQUEST_ID.test(given) ? given : randomUUID();
}
