import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { networkReason, printable } from '@krmhub/schema/network-reason';
import type { SourceContext } from '../context.js';
import { seconds } from '../deadline.js';
import { findFailure, SourceFailure } from '../failure.js';
import type { GuardedAgents } from './guarded-agents.js';

/** What comes back by itself: a name or address that is wrong stays wrong. */
const TEMPORARY_ERROR_CODES = ['ECONNRESET', 'ETIMEDOUT', 'EPIPE', 'EAI_AGAIN', 'ERR_STREAM_PREMATURE_CLOSE'];
const NOT_HTTP_CODES = /^(?:HPE_|Z_|ERR__ERROR_FORMAT)/;

/**
 * One request, and what `read` makes of its answer. `touch` is to be called for everything that comes. Nothing of the
 * connection is left afterwards. Rejects with SourceFailures only.
 */
export async function exchange<Result>(
  url: URL,
  {
    headers,
    agents,
    context,
  }: { headers: Record<string, string>; agents: GuardedAgents; context: SourceContext },
  read: (response: IncomingMessage, touch: () => void) => Promise<Result>,
): Promise<Result> {
  const { deadline, limits } = context;
  deadline.signal.throwIfAborted();
  const encrypted = url.protocol === 'https:';
  const send = encrypted ? requestHttps : requestHttp;
  let response: IncomingMessage | undefined;
  let broken: Error | undefined;
  let timer: NodeJS.Timeout | undefined;
  const request = send(url, { agent: agents.for(url), headers });
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
  try {
    response = await new Promise<IncomingMessage>((resolve, reject) => {
      request.on('response', resolve);
      request.on('error', (error) => {
        broken ??= error;
        reject(error);
      });
      // An answer that wants another protocol ends without either.
      request.on('close', () => reject(Object.assign(new Error('no answer'), { code: 'HPE_NO_ANSWER' })));
      request.on('socket', (socket) => socket.once(encrypted ? 'secureConnect' : 'connect', touch));
      request.end();
    });
    response.on('error', (error) => (broken ??= error));
    touch();
    const result = await read(response, touch);
    // What follows an answer that said to be shorter.
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

/** Why a connection brought nothing. */
export function networkFailure(host: string, error: unknown): SourceFailure {
  const known = findFailure(error);
  if (known !== undefined) return known;
  const code = String((error as { code?: unknown }).code ?? '');
  if (NOT_HTTP_CODES.test(code)) {
    return new SourceFailure(
      'bad-answer',
      `${printable(host)} does not answer as a web server does: ${networkReason(error)}`,
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
    return 'A name that only an internal DNS server knows has to be known where this runs.';
  }
  if (code === 'CERT_HAS_EXPIRED') return 'Whoever serves it has to renew the certificate.';
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'Write the name that its certificate is for.';
  if (/CERT|SIGNATURE/.test(code)) {
    return 'NODE_EXTRA_CA_CERTS names a file of further certificates to trust, where this runs.';
  }
  if (code === 'EPROTO') return 'Write the address with the protocol and the port that it speaks.';
  return 'Does it answer from here, on that port?';
}

function idleFailure(url: URL, milliseconds: number): SourceFailure {
  return new SourceFailure('too-slow', `nothing came from ${url.host} for ${seconds(milliseconds)}`, {
    hint: 'It is asked again later.',
  });
}
