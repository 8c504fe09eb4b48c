import type { SourceProblem } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { type ErrorCode, KrmhubError } from '@krmhub/schema/error';
import { printable } from '@krmhub/schema/network-reason';

const CODES: Record<SourceProblem, ErrorCode> = {
  unreachable: 'unreachable',
  'too-slow': 'unreachable',
  'too-large': 'too-large',
  'forbidden-address': 'forbidden',
  'too-many-redirects': 'unreachable',
  'not-found': 'not-found',
  unauthorized: 'unauthorized',
  'bad-answer': 'unreachable',
  'invalid-catalog': 'invalid-document',
  signature: 'untrusted',
  rollback: 'untrusted',
  frozen: 'untrusted',
  equivocation: 'untrusted',
  internal: 'internal',
};

export interface FailureOptions {
  hint?: string;
  cause?: unknown;
  retryAfterMilliseconds?: number | undefined;
  isTemporary?: boolean;
  isRefusal?: boolean;
  responseCode?: string | undefined;
}

/** The failure of a fetch. The message is for operators. */
export class SourceFailure extends KrmhubError {
  readonly problem: SourceProblem;
  /** From the Retry-After header. */
  readonly retryAfterMilliseconds: number | undefined;
  /** Whether a retry may succeed. */
  readonly isTemporary: boolean;
  /** The code in an error response of a krmhub registry (RFC 9457); undefined for other servers. */
  readonly responseCode: string | undefined;

  constructor(problem: SourceProblem, message: string, options: FailureOptions = {}) {
    const { hint, cause, retryAfterMilliseconds, isTemporary: passing = false } = options;
    // Wrong content has the same code wherever it is read.
    const isWrong = cause instanceof KrmhubError && cause.code === 'digest-mismatch';
    super(isWrong ? cause.code : CODES[problem], message, {
      cause,
      ...defined({ hint, isRefusal: options.isRefusal }),
    });
    this.problem = problem;
    this.retryAfterMilliseconds = retryAfterMilliseconds;
    this.isTemporary = passing;
    this.responseCode = options.responseCode;
  }
}

/** Finds a SourceFailure in the causes of an error, because libraries wrap what hooks throw. */
export function findFailure(error: unknown): SourceFailure | undefined {
  for (let at = error, depth = 0; depth < 5 && at instanceof Error; depth++, at = at.cause) {
    if (at instanceof SourceFailure) return at;
  }
  return undefined;
}

/** Wraps an unexpected error. Its message is in the cause only, because reports are public. */
export function unexpectedFailure(error: unknown): SourceFailure {
  const { code } = (error ?? {}) as { code?: unknown };
  const reason = typeof code === 'string' ? printable(code, 50) : 'internal error';
  return new SourceFailure('internal', `fetch failed: ${reason}`, { cause: error });
}

export function tooLargeFailure(what: string, maxBytes: number): SourceFailure {
  return new SourceFailure('too-large', `${what} is larger than ${maxBytes} bytes`, {
    hint: 'Ask the publisher of the catalog to reduce its size.',
  });
}
