/**
 * Servers, repositories, and certificates for tests of fetches.
 *
 * @module
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { FetcherOptions } from '../context.js';
import { SourceFailure } from '../failure.js';
import { SourceFetcher } from '../fetcher.js';

/** Default options for tests: localhost is allowed, timeouts are long, also for a busy machine. */
export const TEST_OPTIONS: Omit<FetcherOptions, 'temporaryFolder'> = {
  userAgent: 'krmhub/test',
  allowedAddresses: ['127.0.0.1'],
  protocols: ['https', 'http', 'ssh'],
  limits: {
    connectMilliseconds: 60_000,
    idleMilliseconds: 60_000,
    totalMilliseconds: 120_000,
    firstRetryMilliseconds: 10,
  },
};

export function testFetcher(temporaryFolder: string, options: Partial<FetcherOptions> = {}): SourceFetcher {
  return new SourceFetcher({
    ...TEST_OPTIONS,
    temporaryFolder,
    ...options,
    limits: { ...TEST_OPTIONS.limits, ...options.limits },
  });
}

/** Returns the failure of a fetch; throws if the fetch succeeds or fails otherwise. */
export async function catchFailure(fetching: Promise<unknown>): Promise<SourceFailure> {
  try {
    await fetching;
  } catch (error) {
    if (error instanceof SourceFailure) return error;
    throw error;
  }
  throw new Error('it did not fail');
}

export function temporaryFolder(): { folder: string; remove(): void } {
  const folder = mkdtempSync(path.join(tmpdir(), 'krmhub-sources-'));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

export interface TestServer {
  port: number;
  /** `http://127.0.0.1:PORT` */
  origin: string;
  close(): Promise<void>;
}

/** An HTTP server that records requests in `asked`. */
export async function httpServer(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<TestServer & { asked: { url: string; headers: IncomingMessage['headers'] }[] }> {
  const asked: { url: string; headers: IncomingMessage['headers'] }[] = [];
  const server = createHttpServer((request, response) => {
    asked.push({ url: request.url ?? '', headers: request.headers });
    answer(request, response);
  });
  return { ...(await listening(server)), asked };
}

/** A TCP server that responds to every request with any bytes. */
export function rawServer(answer: (socket: Socket, request: string) => void): Promise<TestServer> {
  return listening(
    createServer((socket) => {
      let request = '';
      socket.on('error', () => undefined);
      socket.on('data', (piece) => {
        const whole = request.includes('\r\n\r\n');
        request += piece.toString('latin1');
        if (!whole && request.includes('\r\n\r\n')) answer(socket, request);
      });
    }),
  );
}

async function listening(server: Server): Promise<TestServer> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    origin: `http://127.0.0.1:${port}`,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Serves repositories below a folder with `git http-backend`. `before` can handle a request instead. */
export function gitServer(
  root: string,
  before: (request: IncomingMessage, response: ServerResponse) => boolean = () => false,
): ReturnType<typeof httpServer> {
  const serve = gitHandler(root);
  return httpServer((request, response) => {
    if (!before(request, response)) serve(request, response);
  });
}

/** The same over TLS, for one user with a password. */
export async function privateGitServer(
  root: string,
  { certificate, user }: { certificate: { key: Buffer; cert: Buffer }; user: string },
): Promise<TestServer> {
  const serve = gitHandler(root);
  const expected = `Basic ${Buffer.from(user).toString('base64')}`;
  const server = createHttpsServer(certificate, (request, response) => {
    if (request.headers.authorization === expected) return serve(request, response);
    response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="private"' }).end();
  });
  const running = await listening(server);
  return { ...running, origin: running.origin.replace('http:', 'https:') };
}

function gitHandler(root: string): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const header = (name: string) => String(request.headers[name] ?? '');
    const backend = spawn('git', ['http-backend'], {
      env: {
        PATH: '/usr/local/bin:/usr/bin:/bin',
        GIT_PROJECT_ROOT: root,
        GIT_HTTP_EXPORT_ALL: '1',
        PATH_INFO: decodeURIComponent(url.pathname),
        QUERY_STRING: url.search.slice(1),
        REQUEST_METHOD: request.method ?? 'GET',
        CONTENT_TYPE: header('content-type'),
        HTTP_CONTENT_ENCODING: header('content-encoding'),
        GIT_PROTOCOL: header('git-protocol'),
        REMOTE_ADDR: '127.0.0.1',
      },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    backend.stdin.on('error', () => undefined);
    request.pipe(backend.stdin);
    response.on('close', () => backend.kill());
    let head = Buffer.alloc(0);
    let started = false;
    backend.stdout.on('data', (piece: Buffer) => {
      if (started) {
        response.write(piece);
        return;
      }
      head = Buffer.concat([head, piece]);
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) return;
      started = true;
      for (const line of head.subarray(0, end).toString('latin1').split('\r\n')) {
        const [name = '', ...value] = line.split(': ');
        if (name === 'Status') response.statusCode = Number.parseInt(value[0]!, 10);
        else response.setHeader(name, value.join(': '));
      }
      response.write(head.subarray(end + 4));
    });
    backend.stdout.on('end', () => response.end());
  };
}
