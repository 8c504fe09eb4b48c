import type { ErrorCode } from '@krmhub/schema/error';

export const SUCCESS = 0;
/** Problems found, or a refused request. */
export const FINDINGS = 1;
export const USAGE_ERROR = 2;
export const NOT_FOUND = 3;
export const NOT_TRUSTED = 4;
/** The registry, the network or the disk failed. */
export const FAILED = 5;

/** Exit code of every error code. */
export const EXIT_CODE = {
  usage: USAGE_ERROR,
  'invalid-request': USAGE_ERROR,
  'invalid-document': FINDINGS,
  unauthorized: FAILED,
  forbidden: FAILED,
  'not-found': NOT_FOUND,
  gone: NOT_FOUND,
  'method-not-allowed': FAILED,
  conflict: FINDINGS,
  'too-large': FINDINGS,
  'unsupported-media-type': FINDINGS,
  'rate-limited': FAILED,
  unavailable: FAILED,
  'storage-full': FAILED,
  unreachable: FAILED,
  'digest-mismatch': NOT_TRUSTED,
  untrusted: NOT_TRUSTED,
  'function-failed': FINDINGS,
  unsupported: NOT_FOUND,
  internal: FAILED,
} satisfies Record<ErrorCode, number>;
