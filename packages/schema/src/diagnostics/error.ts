import type { Takedown } from '../documents/takedown.js';
import type { Diagnostic } from './diagnostic.js';
import { hidePasswords, withoutPasswords } from './hide-passwords.js';

/**
 * The codes of failed operations. One table maps them to HTTP status (packages/api/src/problem.ts), and one to exit
 * codes (apps/cli/src/io/exit-code.ts).
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

/** An expected failure of an operation. Other errors are internal errors. It shows no password of a URL. */
export class KrmhubError extends Error {
  override readonly name = 'KrmhubError';
  readonly code: ErrorCode;
  /** The fix, in one sentence. */
  readonly hint: string | undefined;
  /** For `invalid-document`: every problem found. */
  readonly diagnostics: readonly Diagnostic[];
  /** Whether a server refused something with its response, or has it no longer: no other failure says that. */
  readonly isRefusal: boolean;
  /** For `gone`: the tombstones. */
  readonly takedowns: readonly Takedown[];

  constructor(
    code: ErrorCode,
    message: string,
    options: {
      hint?: string;
      diagnostics?: readonly Diagnostic[];
      takedowns?: readonly Takedown[];
      cause?: unknown;
      isRefusal?: boolean;
    } = {},
  ) {
    super(hidePasswords(message), options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint && hidePasswords(options.hint);
    this.diagnostics = (options.diagnostics ?? []).map(withoutPasswords);
    this.takedowns = options.takedowns ?? [];
    this.isRefusal = options.isRefusal === true;
  }
}
