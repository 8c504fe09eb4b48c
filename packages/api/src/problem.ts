import type { ErrorCode } from '@krmhub/schema';
import type { ContentfulStatusCode } from 'hono/utils/http-status';

/** The HTTP status of every error code. */
export const HTTP_STATUS = {
  usage: 400,
  'invalid-request': 400,
  'invalid-document': 422,
  unauthorized: 401,
  forbidden: 403,
  'not-found': 404,
  gone: 410,
  'method-not-allowed': 405,
  conflict: 409,
  'too-large': 413,
  'unsupported-media-type': 415,
  'rate-limited': 429,
  unavailable: 503,
  'storage-full': 507,
  unreachable: 502,
  'digest-mismatch': 502,
  untrusted: 422,
  'function-failed': 500,
  unsupported: 501,
  internal: 500,
} satisfies Record<ErrorCode, ContentfulStatusCode>;

/** Media type of every error response (RFC 9457). */
export const PROBLEM_MEDIA_TYPE = 'application/problem+json';
