import type { IncomingHttpHeaders } from 'node:http';
import { KrmhubError } from '@krmhub/schema/error';
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

/** Parses the error body of a registry (distribution-spec, "Error Codes"). */
export function readRegistryErrors(text: string): { messages: string; firstCode?: unknown } {
  try {
    const { errors = [] } = JSON.parse(text) as { errors?: { code?: unknown; message?: unknown }[] };
    const messages = errors
      .slice(0, 3)
      .map(({ code, message }) =>
        printable([code, message].filter((part) => typeof part === 'string').join(', '), MAX_MESSAGE_LENGTH),
      )
      .join('; ');
    return { messages, firstCode: errors[0]?.code };
  } catch {
    return { messages: '' };
  }
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
    ...(noTls ? { hint: 'Use --plain-http if the registry does not support TLS.' } : {}),
  });
}

export function loginHint(registry: string, known: boolean): string {
  return known
    ? `Run \`docker login ${registry}\` as a user with access.`
    : `Run \`docker login ${registry}\` or \`oras login ${registry}\`.`;
}
