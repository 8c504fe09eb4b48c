import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { expectEnd, runTest } from '../testing/command-line.js';

const TOKEN = `krmhub_${'a'.repeat(72)}`;
const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** A registry that answers every request with 401, and records what each was and which credentials it had. */
async function recordingRegistry(): Promise<{ url: string; seen: string[] }> {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.headers.authorization ?? 'anonymous'}`);
    response.writeHead(401, { 'content-type': 'application/problem+json', 'www-authenticate': 'Basic' });
    response.end('{"title":"Unauthorized","status":401,"code":"unauthorized","detail":"no"}');
  }).listen(0, '127.0.0.1');
  servers.push(server);
  await new Promise((resolve) => server.on('listening', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

const WRITE = ['token', 'create', 'ci', '--scope', 'publish'];

it.each([
  ['a read', ['search'], 'GET'],
  ['a read that needs a token', ['whoami'], 'GET'],
  ['a list of tokens', ['token', 'list'], 'GET'],
  ['a write', WRITE, undefined],
  ['an OCI artifact', ['repo', 'list'], 'GET'],
])('%s sends KRMHUB_TOKEN to no other registry than KRMHUB_REGISTRY', async (_, args, first) => {
  const { url, seen } = await recordingRegistry();
  for (const env of [
    { KRMHUB_TOKEN: TOKEN },
    { KRMHUB_TOKEN: TOKEN, KRMHUB_REGISTRY: 'https://krm.example.com' },
  ]) {
    const run = await runTest([...args, '--registry', url], { env });
    expect(run.exitCode).toBe(6);
    expect(new Set(seen)).toEqual(new Set(first === undefined ? [] : [`${first} anonymous`]));
    if (args[0] === 'repo') continue;
    expect(run.err()).toContain(
      `KRMHUB_TOKEN is for ${'KRMHUB_REGISTRY' in env ? 'https://krm.example.com' : 'http://localhost:8080'}`,
    );
    expect(run.err()).toContain(`KRMHUB_REGISTRY=${url}`);
  }
});

it('sends KRMHUB_TOKEN to KRMHUB_REGISTRY, with --registry too', async () => {
  const { url, seen } = await recordingRegistry();
  const env = { KRMHUB_TOKEN: TOKEN, KRMHUB_REGISTRY: `${url}/` };
  expect((await runTest(WRITE, { env })).exitCode).toBe(6);
  expect((await runTest([...WRITE, '--registry', url], { env })).exitCode).toBe(6);
  expect(seen).toEqual([`POST Bearer ${TOKEN}`, `POST Bearer ${TOKEN}`]);
});

it('logs in to another registry with a token of its own only', async () => {
  const { url, seen } = await recordingRegistry();
  const login = await runTest(['login', url], { env: { KRMHUB_TOKEN: TOKEN } });
  expect([login.exitCode, seen]).toEqual([2, []]);
  expect(login.err()).toContain('the token is missing');
});

it('sends no token to another machine without TLS, unless KRMHUB_PLAIN_HTTP has its name', async () => {
  const env = { KRMHUB_TOKEN: TOKEN, KRMHUB_REGISTRY: 'http://krm.invalid:8080' };
  const refused = await runTest(WRITE, { env });
  expectEnd(refused, 6, 'cannot send credentials to krm.invalid:8080: the connection has no TLS');
  expect(refused.err()).toContain('KRMHUB_PLAIN_HTTP=krm.invalid:8080');
  for (const hosts of ['krm.invalid', 'other.invalid, krm.invalid:8080']) {
    const allowed = await runTest(WRITE, { env: { ...env, KRMHUB_PLAIN_HTTP: hosts } });
    expect([allowed.exitCode, allowed.err().includes('cannot reach')]).toEqual([5, true]);
  }
  const login = await runTest(['login'], { env, stdin: TOKEN });
  expect([login.exitCode, login.err().includes('cannot reach')]).toEqual([5, true]);
});
