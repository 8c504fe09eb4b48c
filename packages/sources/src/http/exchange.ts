import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { networkReason, printable } from '@krmhub/schema/network-reason';
import type { SourceContext } from '../context.js';
import { seconds } from '../deadline.js';
import { findFailure, SourceFailure } from '../failure.js';
import type { GuardedAgents } from './guarded-agents.js';

/** Errors that a retry may fix. A wrong name or address is not one of them. */
const TEMPORARY_ERROR_CODES = ['ECONNRESET', 'ETIMEDOUT', 'EPIPE', 'EAI_AGAIN', 'ERR_STREAM_PREMATURE_CLOSE'];
const NOT_HTTP_CODES = /^(?:HPE_|Z_|ERR__ERROR_FORMAT)/;

export interface ExchangeOptions {
  headers: Record<string, string>;
  agents: GuardedAgents;
  context: SourceContext;
  /** Default: GET. */
  method?: string;
  body?: string;
}

/**
 * Sends one request and returns the result of `read`, which has to call `touch` for each received chunk. Closes the
 * connection afterwards. Rejects with SourceFailures only.
 */
export async function exchange<Result>(
  url: URL,
  { headers, agents, context, method = 'GET', body }: ExchangeOptions,
  read: (response: IncomingMessage, touch: () => void) => Promise<Result>,
): Promise<Result> {
  const { deadline, limits } = context;
  const agent = await agents.for(url);
  deadline.signal.throwIfAborted();
  const encrypted = url.protocol === 'https:';
  const send = encrypted ? requestHttps : requestHttp;
  let response: IncomingMessage | undefined;
  let broken: Error | undefined;
  let timer: NodeJS.Timeout | undefined;
  const request = send(url, { agent, headers, method });
  const stop = (error: Error) => {
    broken ??= error;
    response?.destroy(error);
    request.destroy(error);
  };
  const touch = () => {
    clearTimeout(timer);
    timer = setTimeout(() => stop(idleFailure(url, limits.idleMilliseconds)), limits.idleMilliseconds);
  };
  const onEnd = () => stop(deadline.signal.reason);
  deadline.signal.addEventListener('abort', onEnd);
  // A proxy may accept a connection that it does not make.
  timer = setTimeout(() => stop(idleFailure(url, limits.idleMilliseconds)), limits.idleMilliseconds);
  try {
    response = await new Promise<IncomingMessage>((resolve, reject) => {
      request.on('response', resolve);
      request.on('error', (error) => {
        broken ??= error;
        reject(error);
      });
      // A protocol upgrade ends without a response or an error.
      request.on('close', () => reject(Object.assign(new Error('no response'), { code: 'HPE_NO_ANSWER' })));
      request.on('socket', (socket) => socket.once(encrypted ? 'secureConnect' : 'connect', touch));
      request.end(body);
    });
    response.on('error', (error) => (broken ??= error));
    touch();
    const result = await read(response, touch);
    // For example data after the end of the response.
    if (broken !== undefined) throw broken;
    return result;
  } catch (error) {
    throw networkFailure(url.host, deadline.failure ?? findFailure(broken) ?? error);
  } finally {
    clearTimeout(timer);
    deadline.signal.removeEventListener('abort', onEnd);
    response?.destroy();
    request.destroy();
  }
}

/** Converts a network error. */
export function networkFailure(host: string, error: unknown): SourceFailure {
  const known = findFailure(error);
  if (known !== undefined) return known;
  const code = String((error as { code?: unknown }).code ?? '');
  if (NOT_HTTP_CODES.test(code)) {
    return new SourceFailure(
      'bad-answer',
      `invalid HTTP response from ${printable(host)}: ${networkReason(error)}`,
      {
        cause: error,
      },
    );
  }
  return new SourceFailure('unreachable', `cannot reach ${printable(host)}: ${networkReason(error)}`, {
    cause: error,
    hint: hintForCode(code),
    isTemporary: TEMPORARY_ERROR_CODES.includes(code),
  });
}

function hintForCode(code: string): string {
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return 'Check the host name, and the DNS server of this machine.';
  }
  if (code === 'CERT_HAS_EXPIRED') return 'Ask the operator of the server to renew the certificate.';
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'Use the host name of the certificate.';
  if (/CERT|SIGNATURE/.test(code)) {
    return 'Set NODE_EXTRA_CA_CERTS to a file with the certificate authority.';
  }
  if (code === 'EPROTO') return 'Check the protocol and the port of the URL.';
  return 'Check that the server is running and that its port is reachable.';
}

function idleFailure(url: URL, milliseconds: number): SourceFailure {
  return new SourceFailure('too-slow', `no data from ${url.host} for ${seconds(milliseconds)}`, {
    hint: 'Try again later.',
  });
}
