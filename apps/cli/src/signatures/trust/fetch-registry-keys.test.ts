import { generateKeyPairSync } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  expectEnd,
  fileRegistry,
  runTest,
  type TestIoOptions,
  temporaryFolder,
} from '../../testing/command-line.js';

const registry = fileRegistry();
let home: string;
let url: string;
let fingerprint: string;
beforeAll(async () => {
  url = `${registry.url}/catalogs/default`;
  const { keys } = (await (await fetch(`${registry.url}/.well-known/krmhub-keys.json`)).json()) as {
    keys: { fingerprint: string }[];
  };
  fingerprint = keys[0]!.fingerprint;
});
beforeEach(() => {
  home = temporaryFolder();
});

const run = (args: string[], options: TestIoOptions = {}) =>
  runTest(['trust', ...args], { cwd: home, env: { HOME: home }, ...options });
const add = (...args: string[]) => run(['add', url, ...args]);
async function pinned(): Promise<string[]> {
  const { catalogs = [] } = JSON.parse((await run(['list', '-o', 'json'])).out());
  return catalogs.flatMap((one: { keys: { fingerprint: string }[] }) =>
    one.keys.map((key) => key.fingerprint),
  );
}

describe('trust add URL without a key', () => {
  it('shows the fingerprint at a terminal, and pins the key only after a yes', async () => {
    const asked = await run(['add', url], { tty: true, stdin: 'n\n' });
    expectEnd(asked, 2, `key of ${registry.url}: ${fingerprint}\n`);
    expect(asked.err()).toContain(`Pin 1 key for ${url}? [y/N]`);
    expect(await pinned()).toEqual([]);
    expectEnd(await run(['add', url], { tty: true, stdin: 'y\n' }), 0, 'added ');
    expect(await pinned()).toEqual([fingerprint]);
    // The pin is one that a command uses.
    const verified = await runTest(['catalog', 'verify', url], { cwd: home, env: { HOME: home } });
    expectEnd(verified, 0);
  });

  it('pins nothing without a terminal, and says which option does', async () => {
    const io = await add();
    expectEnd(io, 2, `then add: --fingerprint ${fingerprint}\n`);
    expect(await pinned()).toEqual([]);
  });

  it('pins the key with the expected fingerprint, and no other', async () => {
    expectEnd(await add('--fingerprint', `sha256:${'0'.repeat(64)}`), 4, 'has no key with the fingerprint');
    expect(await pinned()).toEqual([]);
    expectEnd(await add('--fingerprint', fingerprint.slice('sha256:'.length).toUpperCase()), 0, 'added ');
    expect(await pinned()).toEqual([fingerprint]);
    expectEnd(await add('--fingerprint', fingerprint), 0, 'unchanged: ');
  });

  it('pins the key with --yes, and says that nobody compared it', async () => {
    expectEnd(await add('--yes'), 0, 'warning: the fingerprint was not compared');
    expect(await pinned()).toEqual([fingerprint]);
  });

  it.each([
    [['http://krm.example.com/catalogs/default'], 'the connection has no TLS'],
    [['http://127.0.0.1.example.com/catalogs/default', '--yes'], 'the connection has no TLS'],
    [['https://mirror.example.com/krm'], 'it is not the URL of a catalog'],
    [['http://localhost:8080/', '--yes'], 'krmhub trust add http://localhost:8080/catalogs/default'],
    [['https://krm.example.com/catalogs/default', '--key', 'a.pub', '--yes'], 'cannot be combined'],
    [['team', '--yes'], '--yes is only for catalog URLs'],
    [['team', '--fingerprint', 'sha256:ab'], '--fingerprint is only for catalog URLs'],
  ])('refuses %j', async (args, message) => {
    expectEnd(await run(['add', ...args]), 2, message);
    expect(await pinned()).toEqual([]);
  });
});

describe('keys of a hostile server', () => {
  let server: Server;
  let body: unknown;
  beforeAll(async () => {
    server = createServer((_, response) => {
      response.setHeader('Content-Type', 'application/json');
      response.end(typeof body === 'string' ? body : JSON.stringify(body));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => server.close());

  const pair = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const publicKey = String(pair.publicKey.export({ type: 'spki', format: 'pem' }));
  const claimed = `sha256:${'1'.repeat(64)}`;
  const key = { publicKey, fingerprint: claimed, validFrom: '2026-01-01T00:00:00.000Z' };
  const address = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/catalogs/default`;

  it.each<[string, unknown]>([
    ['no list', {}],
    ['no JSON', '<html>'],
    ['an empty list', { keys: [] }],
    ['keys that have ended', { keys: [{ ...key, validUntil: '2026-01-02T00:00:00.000Z' }] }],
    ['many keys', { keys: Array.from({ length: 9 }, () => key) }],
    ['text in place of a key', { keys: [{ ...key, publicKey: '\u001b[31mtrust me' }] }],
    [
      'a private key',
      { keys: [{ ...key, publicKey: String(pair.privateKey.export({ type: 'pkcs8', format: 'pem' })) }] },
    ],
    ['a large response', { keys: [{ ...key, publicKey: 'a'.repeat(20_000_000) }] }],
  ])('are refused: %s', async (_, sent) => {
    body = sent;
    const io = await run(['add', address(), '--yes']);
    expect([io.exitCode > 0, io.err().includes('hint:')], io.err()).toEqual([true, true]);
    expect(io.err()).not.toMatch(/fault of krmhub|\u001b|PRIVATE KEY-----\n/);
    expect(await pinned()).toEqual([]);
  });

  it('are shown by their own fingerprint, not by the one that the server claims', async () => {
    body = { keys: [key] };
    expectEnd(await run(['add', address(), '--fingerprint', claimed]), 4, 'has no key with the fingerprint');
    const io = await run(['add', address(), '--yes']);
    expectEnd(io, 0);
    expect(io.err()).not.toContain(claimed);
  });
});
