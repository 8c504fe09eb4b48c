import { type ErrorCode, KrmhubError } from '@krmhub/schema/error';
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
    super(problem.code, problem.detail, {
      ...(problem.hint === undefined ? {} : { hint: problem.hint }),
      ...(problem.diagnostics === undefined
        ? {}
        : {
            diagnostics: problem.diagnostics.map(({ range, hint, ...diagnostic }) => ({
              ...diagnostic,
              ...(range === undefined ? {} : { range }),
              ...(hint === undefined ? {} : { hint }),
            })),
          }),
      ...(problem.takedowns === undefined
        ? {}
        : { takedowns: problem.takedowns as KrmhubError['takedowns'] }),
    });
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
