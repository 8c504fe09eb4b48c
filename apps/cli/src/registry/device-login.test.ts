import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { PendingLogin } from '@krmhub/api/model';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runProgram } from '../program.js';
import { expectEnd, type TestIo, temporaryFolder, testIo } from '../testing/command-line.js';

/** A registry that answers as a test wants, and another server that must get nothing. */
const SECRET = 's'.repeat(43);
let servers: Server[];
let registry: string;
let other: string;
let home: string;
/** `METHOD PATH BODY` of each request to the other server. */
let seenElsewhere: string[];
let respond: (request: IncomingMessage, response: ServerResponse) => void;

async function listen(handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(handle).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

beforeEach(async () => {
  servers = [];
  seenElsewhere = [];
  home = temporaryFolder();
  registry = await listen((request, response) => respond(request, response));
  other = await listen((request, response) => {
    seenElsewhere.push(`${request.method} ${request.url}`);
    response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}');
  });
});
afterEach(() => {
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
});

const pending = (more: Partial<PendingLogin> = {}): PendingLogin => ({
  ...{ code: 'ABCD-EFGH', secret: SECRET, page: '/login/device?code=ABCD-EFGH' },
  ...{ expiresAt: new Date(Date.now() + 600_000).toISOString(), interval: 1, hasUsers: true, ...more },
});

function json(response: ServerResponse, status: number, body: object): void {
  const type = status < 400 ? 'application/json' : 'application/problem+json';
  response.writeHead(status, { 'Content-Type': type }).end(JSON.stringify(body));
}

async function login(): Promise<TestIo> {
  const io = testIo({ tty: true, env: { HOME: home } });
  await runProgram(['login', registry, '--no-browser'], io);
  expect(existsSync(path.join(home, '.config'))).toBe(false);
  return io;
}

it.each(['/api/v1/login/requests', '/api/v1/login/token', '/api/v1/whoami'])(
  'sends nothing to another server when %s redirects there',
  async (redirected) => {
    respond = ({ url }, response) => {
      if (url === redirected) response.writeHead(307, { Location: `${other}${url}` }).end();
      else if (url === '/api/v1/login/requests') json(response, 201, pending());
      else json(response, 200, { state: 'approved', token: `krmhub_${'0'.repeat(72)}` });
    };
    expectEnd(await login(), 5, 'redirects to');
    expect(seenElsewhere).toEqual([]);
  },
);

it.each([
  ['another scheme', { page: 'javascript:alert(1)' }],
  ['a user name', { page: 'https://krm.example.com@evil.example/login/device' }],
  ['no address', { page: 'login' }],
  ['a code that controls the terminal', { code: '\u001b[2JABCD' }],
])('refuses a page with %s', async (_, more) => {
  respond = (_request, response) => json(response, 201, pending(more));
  const io = await login();
  expectEnd(io, 5, 'names no page on which to sign in');
  expect(io.err()).not.toContain('\u001b[2JABCD');
});

it('says why the registry refuses, and does not ask again', async () => {
  let asked = 0;
  respond = ({ url }, response) => {
    if (url === '/api/v1/login/requests') return json(response, 201, pending());
    asked += 1;
    const detail = 'the login has expired, or was used before';
    json(response, 410, { type: 'about:blank', title: 'Gone', status: 410, code: 'gone', detail });
  };
  const io = await login();
  expect([io.exitCode === 0, io.err().includes('has expired'), asked]).toEqual([false, true, 1]);
});

it('continues after the registry was away for a moment', async () => {
  let asked = 0;
  respond = ({ url, socket }, response) => {
    if (url === '/api/v1/login/requests') return json(response, 201, pending());
    asked += 1;
    if (asked < 3) socket.destroy();
    else
      json(response, 403, {
        type: 'about:blank',
        title: 'no',
        status: 403,
        code: 'forbidden',
        detail: 'denied',
      });
  };
  expectEnd(await login(), 6, 'denied');
  expect(asked).toBe(3);
});

it.each([
  ['404', 404, 'not-found'],
  ['405', 405, 'method-not-allowed'],
])('asks for a token where an older registry answers %s', async (_, status, code) => {
  respond = ({ url }, response) => {
    if (url === '/api/v1/login/requests') {
      json(response, status, { type: 'about:blank', title: 'no', status, code, detail: 'no' });
    } else
      json(response, 401, {
        type: 'about:blank',
        title: 'no',
        status: 401,
        code: 'unauthorized',
        detail: 'no',
      });
  };
  const io = testIo({ tty: true, stdin: `krmhub_${'0'.repeat(72)}\r`, env: { HOME: home } });
  await runProgram(['login', registry], io);
  expectEnd(io, 6, `Token for ${registry}: `);
});
