import type { IncomingHttpHeaders } from 'node:http';
import { KrmhubError } from '@krmhub/schema/error';
import { networkReason, printable } from '@krmhub/schema/network-reason';

/** A registry that could not answer now and may in a moment. */
export class TemporaryFailure extends KrmhubError {
  /** Milliseconds that the registry wants to be left alone, where it says so. */
  retryAfterMilliseconds: number | undefined;
}

/** A registry, or what it redirects to, that sends its readers around. */
export class TooManyRedirects extends KrmhubError {}

/** Code of the error that ends a connection on which nothing comes: the cause of a TemporaryFailure. */
export const IDLE_TIMEOUT = 'KRMHUB_IDLE';
/** Characters of each error that a registry tells: what it says to do about it stands at the end. */
const MAX_MESSAGE_LENGTH = 1_000;
export const TEMPORARY_STATUSES = new Set([408, 429, 500, 502, 503, 504]);

/** What a registry says is wrong (distribution-spec, "Error Codes"), in one line, and the first code. */
export function readRegistryErrors(text: string): { told: string; first?: unknown } {
  try {
    const { errors = [] } = JSON.parse(text) as { errors?: { code?: unknown; message?: unknown }[] };
    const told = errors
      .slice(0, 3)
      .map(({ code, message }) =>
        printable([code, message].filter((part) => typeof part === 'string').join(', '), MAX_MESSAGE_LENGTH),
      )
      .join('; ');
    return { told, first: errors[0]?.code };
  } catch {
    return { told: '' };
  }
}

export function temporaryFailure(what: string, headers: IncomingHttpHeaders): TemporaryFailure {
  const failure = new TemporaryFailure('unavailable', what, { hint: 'Try again in a moment.' });
  const seconds = headers['retry-after'];
  if (seconds !== undefined && /^\d{1,5}$/.test(seconds))
    failure.retryAfterMilliseconds = Number(seconds) * 1_000;
  return failure;
}

/** What comes back by itself: a name or address that is wrong stays wrong. */
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
    ...(noTls ? { hint: 'If it does not speak TLS: --plain-http speaks to it without.' } : {}),
  });
}

export function loginHint(registry: string, known: boolean): string {
  return known
    ? `The credentials for ${registry} are not enough: log in as somebody who may, with \`docker login ${registry}\`.`
    : `Log in first, with \`docker login ${registry}\`, \`oras login ${registry}\` or the like.`;
}
