import type { Takedown } from '../documents/takedown.js';
import type { Diagnostic } from './diagnostic.js';

/**
 * Every way in which an operation can fail. HTTP status and exit code each stand in one table
 * over these codes (packages/api/src/problem.ts, apps/cli/src/io/exit-code.ts).
 */
export const ERROR_CODES = [
  'usage',
  'invalid-request',
  'invalid-document',
  'unauthorized',
  'forbidden',
  'not-found',
  'gone',
  'method-not-allowed',
  'conflict',
  'too-large',
  'unsupported-media-type',
  'rate-limited',
  'unavailable',
  'storage-full',
  'unreachable',
  'digest-mismatch',
  'untrusted',
  'function-failed',
  'unsupported',
  'internal',
] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];

/** An operation that failed for a reason that its caller can understand. Anything else is an internal error. */
export class KrmhubError extends Error {
  override readonly name = 'KrmhubError';
  readonly code: ErrorCode;
  /** What to do about it, in one sentence. */
  readonly hint: string | undefined;
  /** For `invalid-document`: every problem found. */
  readonly diagnostics: readonly Diagnostic[];
  /** For `gone`: what was taken down. */
  readonly takedowns: readonly Takedown[];

  constructor(
    code: ErrorCode,
    message: string,
    options: {
      hint?: string;
      diagnostics?: readonly Diagnostic[];
      takedowns?: readonly Takedown[];
      cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint;
    this.diagnostics = options.diagnostics ?? [];
    this.takedowns = options.takedowns ?? [];
  }
}
