import type { SourceProblem } from '@krmhub/schema';
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
}

/** Why a source could not be fetched, in words for those who run the registry. */
export class SourceFailure extends KrmhubError {
  readonly problem: SourceProblem;
  /** For how long the other side wants to be left alone, where it says so. */
  readonly retryAfterMilliseconds: number | undefined;
  /** It may be gone in a moment. */
  readonly isTemporary: boolean;

  constructor(problem: SourceProblem, message: string, options: FailureOptions = {}) {
    const { hint, cause, retryAfterMilliseconds, isTemporary: passing = false } = options;
    super(CODES[problem], message, { cause, ...(hint === undefined ? {} : { hint }) });
    this.problem = problem;
    this.retryAfterMilliseconds = retryAfterMilliseconds;
    this.isTemporary = passing;
  }
}

/** The failure that an error is, or that caused it, where libraries wrap what our hooks throw. */
export function findFailure(error: unknown): SourceFailure | undefined {
  for (let at = error, depth = 0; depth < 5 && at instanceof Error; depth++, at = at.cause) {
    if (at instanceof SourceFailure) return at;
  }
  return undefined;
}

/** What nobody foresaw, as a failure. Its message is for whoever runs this, and not for everybody who reads a report. */
export function unexpectedFailure(error: unknown): SourceFailure {
  const { code } = (error ?? {}) as { code?: unknown };
  const reason = typeof code === 'string' ? printable(code, 50) : 'of an internal error';
  return new SourceFailure('internal', `it could not be fetched, because ${reason}`, { cause: error });
}

export function tooLargeFailure(what: string, maxBytes: number): SourceFailure {
  return new SourceFailure('too-large', `${what} is larger than ${maxBytes} bytes`, {
    hint: 'More than that is not read; ask whoever serves it for less.',
  });
}
