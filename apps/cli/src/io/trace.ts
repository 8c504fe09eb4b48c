import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { networkReason } from '@krmhub/schema/network-reason';
import { type Io, write } from './io.js';

type Trace = NonNullable<Io['trace']>;

/**
 * Prints what a command does on stderr, and every HTTP request of this process. Node.js reports the requests of all
 * clients (`http.client.*` of node:diagnostics_channel). Returns what ends it.
 */
export function startTrace(io: Io): () => void {
  const trace: Trace = (text) => void write(io.stderr, `verbose: ${text}\n`);
  io.trace = trace;
  const started = new WeakMap<ClientRequest, number>();
  const elapsed = (request: ClientRequest) =>
    `${Math.round(performance.now() - (started.get(request) ?? performance.now()))} ms`;
  const onStart = (message: unknown) => {
    const { request } = message as { request: ClientRequest };
    started.set(request, performance.now());
    trace(`> ${requestText(request)}${request.hasHeader('authorization') ? ', with credentials' : ''}`);
    request.once('error', (error) =>
      trace(`< ${requestText(request)}: ${networkReason(error)} (${elapsed(request)})`),
    );
  };
  const onResponse = (message: unknown) => {
    const { request, response } = message as { request: ClientRequest; response: IncomingMessage };
    trace(`< ${requestText(request)}: ${response.statusCode} (${elapsed(request)})`);
  };
  subscribe('http.client.request.start', onStart);
  subscribe('http.client.response.finish', onResponse);
  return () => {
    unsubscribe('http.client.request.start', onStart);
    unsubscribe('http.client.response.finish', onResponse);
  };
}

/** Method and URL. The values of a query can be secrets, such as those of a presigned URL. */
function requestText(request: ClientRequest): string {
  const { method, protocol, host, path } = request;
  // A proxy gets the whole URL.
  const url = path.startsWith('/') ? `${protocol}//${request.getHeader('host') ?? host}${path}` : path;
  return `${method} ${tracedUrl(url)}`;
}

/** Returns a URL without user, password, and the values of its query. */
export function tracedUrl(url: string): string {
  return url.replace(/\/\/[^/?#]*@/, '//').replace(/([?&])([^=&#]*=)?[^&#]*/g, '$1$2…');
}
