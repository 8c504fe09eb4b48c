import type { ErrorCode } from '@krmhub/schema/error';

export const SUCCESS = 0;
/** Problems found, or a refused request. */
export const FINDINGS = 1;
export const USAGE_ERROR = 2;
export const NOT_FOUND = 3;
export const NOT_TRUSTED = 4;
/** The registry, the network, or the disk failed. A retry may help. */
export const FAILED = 5;
/** Not signed in, or not allowed. */
export const NOT_ALLOWED = 6;

/** Exit code of every error code. */
export const EXIT_CODE = {
  usage: USAGE_ERROR,
  'invalid-request': USAGE_ERROR,
  'invalid-document': FINDINGS,
  unauthorized: NOT_ALLOWED,
  forbidden: NOT_ALLOWED,
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

/** Reports whether something could not be asked for: nothing is known about it. */
export function isUnanswered({ code }: { code: ErrorCode }): boolean {
  const exit: number = EXIT_CODE[code];
  return exit === FAILED || exit === NOT_ALLOWED;
}
