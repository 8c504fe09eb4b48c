import { STATUS_CODES } from 'node:http';
import type { Problem } from '@krmhub/api/model';
import { HTTP_STATUS, PROBLEM_MEDIA_TYPE } from '@krmhub/api/problem';
import { type ErrorCode, KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { SERVER_LIMITS } from '../limits.js';
import type { RegistryContext } from './context.js';
import type { PublicAddress } from './public-address.js';
import { TooManyRequests } from './too-many-requests.js';

export interface ProblemDeps {
  config: PublicAddress;
}

/** Returns any failure as an RFC 9457 response. */
export function problemResponse(c: RegistryContext, failure: unknown, deps: ProblemDeps): Response {
  const { problem, status, headers } = failureResponse(c, failure, deps);
  if (problem.code === 'not-found' && isUnknownReader(c)) {
    const hint = `If it is not public, sign in: krmhub login ${deps.config.publicUrl ?? 'URL'}`;
    problem.hint = problem.hint === undefined ? hint : `${problem.hint.replace(/[^.?!]$/, '$&.')} ${hint}`;
  }
  return c.body(JSON.stringify(problem), status, { ...headers, 'Content-Type': PROBLEM_MEDIA_TYPE });
}

/**
 * Returns the status, the problem and the headers of a failure, for any media type. An unexpected failure is
 * reported as "internal"; its cause is in the log only.
 */
export function failureResponse(
  c: RegistryContext,
  failure: unknown,
  { config }: ProblemDeps,
): { problem: Problem; status: (typeof HTTP_STATUS)[ErrorCode]; headers: Record<string, string> } {
  const requestId = c.get('requestId');
  const error = failure instanceof KrmhubError ? failure : internalError(failure);
  const status = HTTP_STATUS[error.code];
  if (status >= 500) c.set('failure', { code: error.code, err: failure });
  const problem: Problem = {
    type: 'about:blank',
    title: STATUS_CODES[status] ?? 'Error',
    status,
    code: error.code,
    detail: shortened(error.message),
    ...defined({
      hint: hintOf(c, error),
      diagnostics: error.diagnostics.length === 0 ? undefined : [...error.diagnostics],
      takedowns: error.takedowns.length === 0 ? undefined : [...error.takedowns],
    }),
    requestId,
  };
  const headers: Record<string, string> = { 'Cache-Control': 'no-store' };
  if (status === 401) headers['WWW-Authenticate'] = `Bearer realm="${config.publicUrl ?? 'krmhub'}"`;
  if (status === 503) headers['Retry-After'] = '1';
  if (error instanceof TooManyRequests) headers['Retry-After'] = String(error.retryAfterSeconds);
  // The rest of an oversized body is not read.
  if (status === 413) headers.Connection = 'close';
  return { problem, status, headers };
}

/** Whether the registry hides things, and the client did not say who it is. */
function isUnknownReader(c: RegistryContext): boolean {
  return c.get('findVisitor') !== undefined && c.req.header('authorization') === undefined;
}

/** Who reads with a token that counts as none sees less than before. The text is the same for what does not exist. */
function hintOf(c: RegistryContext, { code, hint }: KrmhubError): string | undefined {
  const problem = c.get('uselessToken');
  if (problem === undefined || code !== 'not-found') return hint;
  return [`Only what is public was read, because ${problem}.`, ...(hint === undefined ? [] : [hint])].join(
    ' ',
  );
}

/** The message names every problem of the request, so it can be long. */
function shortened(message: string): string {
  const { maxDetailLength } = SERVER_LIMITS;
  return message.length <= maxDetailLength ? message : `${message.slice(0, maxDetailLength - 1)}…`;
}

function internalError(cause: unknown): KrmhubError {
  return new KrmhubError('internal', 'internal error', {
    hint: 'The operator can find the cause in the log with this request ID.',
    cause,
  });
}
