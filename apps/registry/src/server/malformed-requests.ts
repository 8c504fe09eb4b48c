import {
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Problem } from '@krmhub/api/model';
import { PROBLEM_MEDIA_TYPE } from '@krmhub/api/problem';
import { parseUrl } from '@krmhub/schema/parse-url';
import { SERVER_LIMITS } from '../limits.js';

interface Refusal {
  status: number;
  code: Problem['code'];
  detail: string;
}

/** Responses by error code of Node's HTTP parser. All other codes mean malformed HTTP. */
const REFUSALS: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: {
    status: 431,
    code: 'too-large',
    detail: `the URL and the headers exceed ${SERVER_LIMITS.maxHeaderBytes} bytes`,
  },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: {
    status: 413,
    code: 'too-large',
    detail: 'the chunk extensions are too long',
  },
  SEVERAL_HOSTS: {
    status: 400,
    code: 'invalid-request',
    detail: 'the request has more than one Host header',
  },
  INVALID_HOST: {
    status: 400,
    code: 'invalid-request',
    detail: 'the Host header is not the name of a host',
  },
  OTHER_SPELLING: {
    status: 400,
    code: 'invalid-request',
    detail: 'the path has a segment "." or "..", or a backslash: request the path without it',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    code: 'invalid-request',
    detail: `request timeout: send the headers within ${SERVER_LIMITS.headersMilliseconds / 1_000} seconds and the request within ${SERVER_LIMITS.requestMilliseconds / 1_000}`,
  },
};

/**
 * A path that the routes would read as another one (RFC 3986, 5.2.4; URLs of browsers take a backslash for a slash).
 * A proxy that blocks or purges paths may not know that.
 */
const OTHER_SPELLING = /^[^?#]*(?:\\|\/(?:\.|%2e){1,2}(?:[/?#]|$))/i;

/**
 * Passes the server's requests to `listener`. Responds to malformed requests with a problem and closes their
 * connection, because the bytes that follow cannot be trusted.
 */
export function listenForRequests(server: Server, listener: RequestListener): void {
  const latest = new WeakMap<Socket, ServerResponse<IncomingMessage>>();
  const pipelined = new WeakMap<Socket, number>();
  server.on('request', (request, response) => {
    const { socket } = request;
    const before = latest.get(socket);
    latest.set(socket, response);
    const problem = findProblem(request);
    if (problem !== undefined) {
      const refuse = () => socket.end(responseText(problem));
      if (before === undefined || before.writableFinished) refuse();
      else before.once('finish', refuse);
      return;
    }
    const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
    if (length !== undefined || encoding !== undefined) response.once('finish', () => endUnread(request));
    if (before === undefined || before.writableFinished) {
      listener(request, response);
      return;
    }
    // Without a limit, the responses to a few kilobytes of pipelined requests would need gigabytes.
    const waiting = (pipelined.get(socket) ?? 0) + 1;
    pipelined.set(socket, waiting);
    if (waiting > SERVER_LIMITS.maxPipelinedRequests) {
      socket.destroy();
      return;
    }
    before.once('close', () => {
      pipelined.set(socket, (pipelined.get(socket) ?? 1) - 1);
      if (!socket.destroyed) listener(request, response);
    });
  });
  server.on('clientError', (error: NodeJS.ErrnoException, stream) => {
    const socket = stream as Socket;
    const refuse = () => {
      if (socket.writable) socket.write(responseText(error.code));
      socket.destroySoon();
    };
    const response = latest.get(socket);
    if (!socket.writable || error.code === 'ECONNRESET') socket.destroy();
    else if (response === undefined || response.writableFinished) refuse();
    // A complete request before the malformed one gets its own response first.
    else if (response.req.complete) response.once('finish', refuse);
    // A response that has started cannot be replaced.
    else if (response.headersSent) socket.destroy();
    else refuse();
  });
}

/** Returns what Node.js accepts in a request, but krmhub does not. */
function findProblem(request: IncomingMessage): string | undefined {
  if (hasSeveralHosts(request)) return 'SEVERAL_HOSTS';
  if (!isHost(request.headers.host)) return 'INVALID_HOST';
  return OTHER_SPELLING.test(request.url ?? '') ? 'OTHER_SPELLING' : undefined;
}

/** The last Host header that was one: nearly all requests have the same, and parsing a URL takes half a microsecond. */
let lastHost = 'localhost';

/** Some characters are valid, and no name: `xn--` without an encoded name behind it. */
function isHost(header = 'localhost'): boolean {
  if (header === lastHost) return true;
  if (parseUrl(`http://${header}/`) === undefined) return false;
  lastHost = header;
  return true;
}

/** Reports whether a request has more than one Host header, of which proxies may read another one (RFC 9112, 3.2). */
function hasSeveralHosts({ rawHeaders }: IncomingMessage): boolean {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    if (name.length === 4 && name.toLowerCase() === 'host') count++;
  }
  return count > 1;
}

/** Closes the connection soon if a body continues after the response, because nothing reads it. */
function endUnread(request: IncomingMessage): void {
  if (request.complete) return;
  const timer = setTimeout(() => request.socket.destroy(), SERVER_LIMITS.discardMilliseconds);
  request.once('close', () => clearTimeout(timer));
}

function responseText(errorCode: string | undefined): string {
  const { status, code, detail } = (errorCode === undefined ? undefined : REFUSALS[errorCode]) ?? {
    status: 400,
    code: 'invalid-request',
    detail: 'malformed HTTP request',
  };
  const title = STATUS_CODES[status] ?? 'Error';
  const problem: Problem = { type: 'about:blank', title, status, code, detail };
  const body = JSON.stringify(problem);
  const headers = [
    `HTTP/1.1 ${status} ${title}`,
    `Content-Type: ${PROBLEM_MEDIA_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    'Connection: close',
  ];
  return `${headers.join('\r\n')}\r\n\r\n${body}`;
}
