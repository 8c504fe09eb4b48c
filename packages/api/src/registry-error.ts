import { defined } from '@krmhub/schema/defined';
import { ERROR_CODES, type ErrorCode, KrmhubError } from '@krmhub/schema/error';
import type { Problem } from './model.js';

/** An error response of the registry. */
export class RegistryError extends KrmhubError {
  readonly registry: string;
  readonly status: number;
  readonly requestId: string | undefined;
  /** Seconds from the Retry-After header. */
  readonly retryAfterSeconds: number | undefined;

  constructor(
    registry: string,
    problem: Omit<Problem, 'code'> & { code: ErrorCode },
    retryAfterSeconds?: number,
  ) {
    super(
      problem.code,
      problem.detail,
      defined({
        hint: problem.hint,
        diagnostics: problem.diagnostics?.map(({ range, hint, ...diagnostic }) => ({
          ...diagnostic,
          ...defined({ range, hint }),
        })),
        takedowns:
          problem.takedowns === undefined ? undefined : (problem.takedowns as KrmhubError['takedowns']),
      }),
    );
    this.registry = registry;
    this.status = problem.status;
    this.requestId = problem.requestId;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** A response that does not come from a krmhub registry. */
export class UnexpectedResponse extends KrmhubError {
  readonly status: number;

  constructor(code: ErrorCode, message: string, options: { hint: string; status: number }) {
    super(code, message, { hint: options.hint });
    this.status = options.status;
  }
}

/**
 * Returns the error for a page without a problem document that a proxy, a gateway, or a registry in trouble sends;
 * undefined for a status that says nothing of a registry. `what` is the status with the media type.
 */
export function plainFailure(
  url: string,
  what: string,
  { status, retryAfterSeconds }: { status: number; retryAfterSeconds: number | undefined },
): KrmhubError | undefined {
  if (status === 429) {
    const problem = {
      type: 'about:blank',
      title: 'Too Many Requests',
      status,
      code: 'rate-limited',
    } as const;
    const detail = `the server at ${url} limits the rate of requests: it responded with ${what}`;
    return new RegistryError(url, { ...problem, detail, hint: 'Try again later.' }, retryAfterSeconds);
  }
  const failed = (code: ErrorCode, hint: string) =>
    new UnexpectedResponse(code, `the server at ${url} responded with ${what}`, { hint, status });
  if (status >= 500) return failed('unavailable', 'Try again later, or ask the operator of the registry.');
  const isRefused = status === 401 || status === 403 || status === 407;
  if (!isRefused) return undefined;
  return failed(
    status === 403 ? 'forbidden' : 'unauthorized',
    'A proxy in front of the registry may require its own sign-in. Ask the operator of the registry.',
  );
}

/** Parses seconds in Retry-After. Dates (RFC 9110) are ignored: a krmhub registry does not send them. */
export function parseRetryAfter(retryAfter: string | undefined): number | undefined {
  return retryAfter !== undefined && /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) : undefined;
}

export function isErrorCode(code: string): code is ErrorCode {
  return (ERROR_CODES as readonly string[]).includes(code);
}
