import { randomUUID } from 'node:crypto';

/** Header fields of every answer. RFC 6797: only who is reached by https may ask for https. */
export function commonHeaders(publicUrl: string | undefined): Record<string, string> {
  return {
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    ...(publicUrl?.startsWith('https:') && { 'Strict-Transport-Security': 'max-age=31536000' }),
  };
}

/** Sent where an answer has no policy of its own. */
export const DENY_ALL_POLICY = "default-src 'none'; frame-ancestors 'none'";

/**
 * In place of these and of those of reads where somebody may be signed in. `no-referrer` would have browsers send forms
 * with `Origin: null`, and nobody could tell our own from others'.
 */
export const PRIVATE_HEADERS = {
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
} as const;

/** All other reads are public and look at no cookie, so pages of any origin may read what anybody may. */
export const READ_HEADERS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'ETag, Link, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id',
} as const;

const REQUEST_ID = /^[\w.:-]{1,64}$/;

/** The client's own id of a request where it gives a decent one. */
export function requestIdOf(given: string | undefined): string {
  return given !== undefined && REQUEST_ID.test(given) ? given : randomUUID();
}
