import type { IncomingHttpHeaders } from 'node:http';
import { defined } from '@krmhub/schema/defined';
import { ERROR_CODES, type ErrorCode, KrmhubError } from '@krmhub/schema/error';
import { networkReason, printable } from '@krmhub/schema/network-reason';

/** A failure that a retry may fix. */
export class TemporaryFailure extends KrmhubError {
  /** From the Retry-After header. */
  retryAfterMilliseconds: number | undefined;
}

/** More redirects than allowed. */
export class TooManyRedirects extends KrmhubError {}

/** Error code of an idle timeout, in the cause of a TemporaryFailure. */
export const IDLE_TIMEOUT = 'KRMHUB_IDLE';
/** Characters of a registry's error message; hints are often at its end. */
const MAX_MESSAGE_LENGTH = 1_000;
export const TEMPORARY_STATUSES = new Set([408, 429, 500, 502, 503, 504]);

/** What the error body of a registry says. */
interface RegistryErrors {
  messages: string;
  firstCode?: unknown;
  /** The code of the same error in the HTTP API, which only krmhub registries send. */
  krmhubCode?: ErrorCode;
}

/** Parses the error body of a registry (distribution-spec, "Error Codes"). */
export function readRegistryErrors(text: string): RegistryErrors {
  try {
    const { errors = [] } = JSON.parse(text) as {
      errors?: { code?: unknown; message?: unknown; detail?: { code?: unknown } | null }[];
    };
    const messages = errors
      .slice(0, 3)
      .map(({ code, message }) =>
        printable([code, message].filter((part) => typeof part === 'string').join(', '), MAX_MESSAGE_LENGTH),
      )
      .join('; ');
    const krmhubCode = ERROR_CODES.find((code) => code === errors[0]?.detail?.code);
    return { messages, firstCode: errors[0]?.code, ...defined({ krmhubCode }) };
  } catch {
    return { messages: '' };
  }
}

const CODES: Readonly<Record<number, ErrorCode>> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not-found',
  410: 'gone',
  413: 'too-large',
};

/**
 * Returns the code of an error response. A krmhub registry names it, so that a push fails with the same exit code as
 * the same request to the HTTP API.
 */
export function failureCode(
  status: number,
  { firstCode, krmhubCode }: Omit<RegistryErrors, 'messages'>,
): ErrorCode {
  if (status < 400 || status >= 500) return 'unreachable';
  if (status !== 401 && krmhubCode !== undefined) return krmhubCode;
  return CODES[status] ?? (firstCode === 'MANIFEST_INVALID' ? 'invalid-document' : 'invalid-request');
}

export function temporaryFailure(what: string, headers: IncomingHttpHeaders): TemporaryFailure {
  const failure = new TemporaryFailure('unavailable', what, { hint: 'Try again later.' });
  const seconds = headers['retry-after'];
  if (seconds !== undefined && /^\d{1,5}$/.test(seconds))
    failure.retryAfterMilliseconds = Number(seconds) * 1_000;
  return failure;
}

/** Errors that a retry may fix. A wrong name or address is not one of them. */
const TEMPORARY_ERROR_CODES = new Set([
  'ECONNRESET',
  'ETIMEDOUT',
  'EPIPE',
  'EAI_AGAIN',
  'ERR_STREAM_PREMATURE_CLOSE',
  IDLE_TIMEOUT,
]);

export function unreachableError(url: URL, error: unknown): KrmhubError {
  const code = String((error as { code?: unknown }).code ?? '');
  const message = `cannot reach ${printable(url.host)}: ${networkReason(error)}`;
  if (TEMPORARY_ERROR_CODES.has(code)) return new TemporaryFailure('unreachable', message, { cause: error });
  const noTls = url.protocol === 'https:' && /EPROTO|WRONG_VERSION|ERR_SSL|ECONNREFUSED/.test(code);
  return new KrmhubError('unreachable', message, {
    cause: error,
    ...defined({ hint: noTls ? 'Use --plain-http if the registry does not support TLS.' : undefined }),
  });
}

export function loginHint(registry: string, known: boolean): string {
  return known
    ? `Run \`docker login ${registry}\` as a user with access.`
    : `Run \`docker login ${registry}\` or \`oras login ${registry}\`. For a krmhub registry, run \`krmhub login\`.`;
}
