import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { runProgram } from '../../apps/cli/src/program.js';
import { expectEnd, runTest, type TestIo, testIo } from '../../apps/cli/src/testing/command-line.js';
import { TestBrowser } from '../../apps/registry/src/testing/operator-session.js';
import { TestProvider } from '../../apps/registry/src/testing/test-provider.js';
import { fixtures, type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';

/** `krmhub login` at a terminal, a registry, and an identity provider: all but the browser are the real programs. */
const { folder, remove } = temporaryFolder();
let idp: TestProvider;
let registry: RunningRegistry;
let url: string;
let home: string;
/** What the stand-in for the program that opens pages was given. */
let opened: string;
let counter = 0;

// The registry knows its public URL before its port.
const front = createServer((incoming, response) => {
  const { method, headers, url: target } = incoming;
  const passed = request(new URL(target ?? '/', registry.url), { method, headers }, (answer) => {
    answer.pipe(response.writeHead(answer.statusCode ?? 502, answer.headers));
  });
  incoming.pipe(passed.on('error', () => response.writeHead(502).end()));
});

beforeAll(async () => {
  front.listen(0, '127.0.0.1');
  await once(front, 'listening');
  url = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
  idp = await TestProvider.start({ redirectUri: `${url}/sign-in/callback`, isIdTokenComplete: true });
  idp.users.set('mallory', { name: 'Mallory', groups: [] });
  registry = await startRegistry(path.join(folder, 'data'), {
    KRMHUB_PUBLIC_URL: url,
    KRMHUB_OIDC_NAME: 'Staff',
    KRMHUB_OIDC_ISSUER: idp.issuer,
    KRMHUB_OIDC_CLIENT_ID: idp.client.client_id,
    KRMHUB_OIDC_CLIENT_SECRET: idp.client.client_secret,
  });
  const access = path.join(folder, 'access.yaml');
  writeFileSync(
    access,
    `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  teams: [{name: platform, members: [{ssoGroup: platform}]}]
  groups: [{pattern: functions.example.com, owner: platform}]
`,
  );
  const env = { ...registry.env, KRMHUB_REGISTRY: url };
  expectEnd(await runTest(['access', 'apply', access, '--yes'], { env }), 0);
});
afterAll(async () => {
  await registry.stop();
  await idp.close();
  front.close();
  front.closeAllConnections();
  remove();
});
beforeEach(() => {
  counter += 1;
  home = path.join(folder, `home-${counter}`);
  opened = path.join(home, 'opened');
  mkdirSync(path.join(home, 'bin'), { recursive: true });
  const opener = path.join(home, 'bin/xdg-open');
  writeFileSync(opener, `#!/bin/sh\nprintf '%s\\n' "$@" >> '${opened}'\nenv > '${opened}.env'\n`);
  chmodSync(opener, 0o755);
});

/** Runs a command at a terminal of a desktop. */
function start(args: string[], env: Record<string, string> = {}): { io: TestIo; ended: Promise<void> } {
  const desktop = { HOME: home, DISPLAY: ':0', PATH: `${path.join(home, 'bin')}:/usr/bin:/bin` };
  const io = testIo({ tty: true, env: { ...desktop, ...env } });
  return { io, ended: runProgram(args, io) };
}

/** Returns the address that a command printed. */
const printedPage = (io: TestIo) =>
  vi.waitUntil(() => /^ {2}(http\S+)$/m.exec(io.err())?.[1], { timeout: 60_000 });

/** Opens a page in a new browser as a user. */
async function openAs(user: string, page: string): Promise<{ browser: TestBrowser; text: string }> {
  const { pathname, search } = new URL(page);
  const from = pathname + search;
  const browser = new TestBrowser(
    { request: (target, init) => fetch(url + target, { redirect: 'manual', ...init }) },
    url,
  );
  const asked = await browser.get(from);
  expect(asked.headers.get('location')).toContain(encodeURIComponent(from));
  const left = await browser.get(`/sign-in/staff/start?${new URLSearchParams({ from })}`);
  const back = await idp.signIn(left.headers.get('location')!, user);
  await browser.get(back.pathname + back.search);
  return { browser, text: await browser.text(from) };
}

const answer = (browser: TestBrowser, page: string, fields: Record<string, string>) =>
  browser.act('/login/device', { code: new URL(page).searchParams.get('code')!, ...fields });

it('signs in as the user who allows it in the browser, and publishes with the rights of the team', async () => {
  const { io, ended } = start(['login', url], { KRMHUB_KEY_PASSWORD: 'secret' });
  const page = await printedPage(io);
  expect(new URL(page).origin).toBe(url);
  const code = new URL(page).searchParams.get('code')!;
  expect(io.err()).toContain(`the code ${code}`);
  await vi.waitUntil(() => existsSync(`${opened}.env`), { timeout: 60_000 });
  expect(readFileSync(opened, 'utf8')).toBe(`${page}\n`);
  expect(readFileSync(`${opened}.env`, 'utf8')).not.toContain('KRMHUB_KEY_PASSWORD');
  const { browser, text } = await openAs('alice', page);
  expect(text).toContain(code);
  expect((await answer(browser, page, { answer: 'allow', days: '30' })).status).toBe(303);
  await ended;
  expectEnd(io, 0, `logged in to ${url} as Alice Example (platform): the token`);
  expect(io.err()).toContain(', where you may, expires 20');
  expect(io.err()).toContain(path.join(home, '.config/krmhub/credentials.json'));
  const whoami = await runTest(['whoami', '-o', 'json'], { env: { HOME: home } });
  expect(JSON.parse(whoami.out())).toMatchObject({
    registry: url,
    user: { name: 'Alice Example' },
    teams: [{ team: 'platform', owns: ['functions.example.com'] }],
  });
  const run = (...args: string[]) => runTest(args, { env: { HOME: home } });
  expect((await run('whoami')).err()).toContain('user: Alice Example (alice at 127.0.0.1');
  expect((await run('whoami')).err()).toMatch(/team platform, .*:\n {2}owns functions\.example\.com/);
  expectEnd(await run('token', 'create', 'other', '--scope', 'read'), 0, 'created personal token other');
  expectEnd(
    await run('token', 'create', 'ci', '--scope', 'read', '--robot'),
    6,
    'does not have the scope "admin"',
  );
  const definition = path.join(fixtures, 'functions/set-labels/1.0.0.yaml');
  expectEnd(await run('publish', definition, '--release', '1.0.0'), 0);
  const { tokens } = JSON.parse((await run('token', 'list', '-o', 'json')).out());
  expect(tokens.map(({ name }: { name: string }) => name)).toEqual([expect.any(String), 'other']);
  expectEnd(await run('token', 'revoke', 'other'), 0, 'revoked token other');
});

it('saves nothing if the user denies it', async () => {
  const { io, ended } = start(['login', url, '--no-browser']);
  const page = await printedPage(io);
  const { browser } = await openAs('mallory', page);
  expect((await answer(browser, page, { answer: 'deny' })).status).toBe(303);
  await ended;
  expectEnd(io, 6, 'the login was denied');
  expect([existsSync(opened), existsSync(path.join(home, '.config'))]).toEqual([false, false]);
});

it('stops at once when the user cancels', async () => {
  const { io, ended } = start(['login', url]);
  await printedPage(io);
  io.stop();
  await ended;
  expectEnd(io, 5, 'the login was canceled');
  expect(existsSync(path.join(home, '.config'))).toBe(false);
});

it.each([
  ['over SSH', { SSH_CONNECTION: '192.0.2.1 1 192.0.2.2 22' }],
  ['without a display', { DISPLAY: '' }],
])('opens no browser %s', async (_, env) => {
  const { io, ended } = start(['login', url], env);
  await printedPage(io);
  io.stop();
  await ended;
  expect(io.err()).not.toContain('your browser opens it');
  expect(existsSync(opened)).toBe(false);
});

it('opens no page of another origin', async () => {
  const other = url.replace('127.0.0.1', 'localhost');
  const { io, ended } = start(['login', other]);
  const page = await printedPage(io);
  io.stop();
  await ended;
  expect([new URL(page).origin, existsSync(opened)]).toEqual([url, false]);
  expect(io.err()).toContain(`the page is not at ${other}`);
});

it('asks for a token where users have no other sign-in', async () => {
  const plain = await startRegistry(path.join(folder, 'plain'), {});
  try {
    const io = testIo({ tty: true, stdin: `${plain.token}\r`, env: { HOME: home } });
    await runProgram(['login', plain.url], io);
    expectEnd(io, 0, `Token for ${plain.url}: `);
    expect(io.err()).toContain(`logged in to ${plain.url} as admin`);
  } finally {
    await plain.stop();
  }
});
