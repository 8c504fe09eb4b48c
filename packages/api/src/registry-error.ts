import { type ErrorCode, KrmhubError } from '@krmhub/schema/error';
import type { Problem } from './model.js';

/** A failure that the registry told of, as against one on the way to it. */
export class RegistryError extends KrmhubError {
  readonly registry: string;
  readonly status: number;
  readonly requestId: string | undefined;
  /** Seconds after which the registry wants to be asked again, where it says so. */
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

/** An answer that no krmhub registry gives. */
export class UnexpectedResponse extends KrmhubError {
  readonly status: number;

  constructor(code: ErrorCode, message: string, options: { hint: string; status: number }) {
    super(code, message, { hint: options.hint });
    this.status = options.status;
  }
}
