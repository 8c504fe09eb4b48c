import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { runTest, temporaryFolder, testIo } from '../testing/command-line.js';
import { saveToken } from './credentials.js';

const token = (digit: string) => `krmhub_${digit.repeat(72)}`;
const [ENV, SECURE, PLAIN] = [token('1'), token('2'), token('3')];
let home: string;
const homes: string[] = [];
beforeEach(async () => {
  home = temporaryFolder();
  homes.push(home);
  const io = testIo({ env: { HOME: home } });
  await saveToken(io, new URL('https://krm.example.com'), SECURE);
  await saveToken(io, new URL('http://localhost:8080'), PLAIN);
  await saveToken(io, new URL('http://plain.example.com:8080'), PLAIN);
});
afterAll(() => {
  for (const one of homes) rmSync(one, { recursive: true, force: true });
});

const ask = (action: string, stdin: string, env: Record<string, string> = {}) =>
  runTest(['docker-credential', action], { stdin, env: { HOME: home, ...env } });
const NOT_FOUND = [1, 'credentials not found in native keychain\n'];

describe('docker-credential get', () => {
  it.each([
    ['krm.example.com', SECURE],
    ['krm.example.com\n', SECURE],
    ['KRM.example.com:443', SECURE],
    ['https://krm.example.com', SECURE],
    ['https://krm.example.com/v2/', SECURE],
    ['krm.example.com/team', SECURE],
    ['localhost:8080', PLAIN],
    ['http://localhost:8080', PLAIN],
  ])('finds the token of %j', async (server, secret) => {
    const io = await ask('get', server);
    expect([io.exitCode, JSON.parse(io.out())]).toEqual([
      0,
      { ServerURL: server.trim(), Username: 'krmhub', Secret: secret },
    ]);
    expect(io.err()).toBe('');
  });

  it.each([
    '',
    'example.com',
    'krm.example.com.evil.example',
    'krm.example.com:8443',
    'http://krm.example.com',
    'https://localhost:8080',
    'localhost',
    '127.0.0.1:8080',
    'plain.example.com:8080',
    'http://plain.example.com:8080',
    'krm.example.com@evil.example',
    'https://index.docker.io/v1/',
    'a b',
  ])('finds none for %j', async (server) => {
    const io = await ask('get', server);
    expect([io.exitCode, io.out()]).toEqual(NOT_FOUND);
  });

  it('finds KRMHUB_TOKEN for its registry, and a registry without TLS that is allowed', async () => {
    const env = { KRMHUB_REGISTRY: 'https://krm.example.com/path', KRMHUB_TOKEN: ENV };
    expect(JSON.parse((await ask('get', 'krm.example.com', env)).out())).toMatchObject({ Secret: ENV });
    expect(JSON.parse((await ask('get', 'localhost:8080', env)).out())).toMatchObject({ Secret: PLAIN });
    const plain = await ask('get', 'plain.example.com:8080', { KRMHUB_PLAIN_HTTP: 'plain.example.com' });
    expect(JSON.parse(plain.out())).toMatchObject({ Secret: PLAIN });
  });

  it('prints on stdout, which the client reads, why it cannot read the tokens', async () => {
    const file = path.join(home, '.config/krmhub/credentials.json');
    writeFileSync(file, '{"version":1,"tokens":{"secret-text":1}}');
    const io = await ask('get', 'krm.example.com');
    expect([io.exitCode, io.out()]).toEqual([1, expect.stringContaining('is not valid')]);
    expect(io.out()).not.toContain('secret-text');
  });
});

it('docker-credential list names the registries of the tokens', async () => {
  const env = { KRMHUB_REGISTRY: 'https://other.example.com', KRMHUB_TOKEN: ENV };
  const io = await ask('list', '', env);
  expect(JSON.parse(io.out())).toEqual(
    Object.fromEntries(
      ['krm.example.com', 'localhost:8080', 'other.example.com', 'plain.example.com:8080'].map((host) => [
        host,
        'krmhub',
      ]),
    ),
  );
});

describe('docker-credential store and erase', () => {
  const store = (ServerURL: unknown, Secret: unknown) =>
    ask('store', JSON.stringify({ ServerURL, Username: 'anybody', Secret }));

  it('save and remove the token of one registry', async () => {
    for (const server of ['new.example.com', 'https://second.example.com', '127.0.0.1:5000']) {
      const stored = await store(server, ENV);
      expect([stored.exitCode, stored.out()]).toEqual([0, '']);
      expect(JSON.parse((await ask('get', server)).out())).toMatchObject({ Secret: ENV });
      expect((await ask('erase', server)).exitCode).toBe(0);
      expect((await ask('get', server)).out()).toBe(NOT_FOUND[1]);
    }
    expect(JSON.parse((await ask('get', 'krm.example.com')).out())).toMatchObject({ Secret: SECURE });
  });

  it('refuse what is not a token of a krmhub registry, without quoting it', async () => {
    const before = readFileSync(path.join(home, '.config/krmhub/credentials.json'), 'utf8');
    for (const [server, secret] of [
      ['index.docker.io', 'hunter2'],
      ['krm.example.com', ''],
      ['krm.example.com', `krmhub_a\nb`],
      ['', ENV],
      ['a b', ENV],
      [1, ENV],
      ['krm.example.com', 1],
    ]) {
      const io = await store(server, secret);
      expect([io.exitCode, io.out()]).toEqual([1, expect.stringMatching(/store|token|JSON/)]);
      expect(io.out()).not.toContain('hunter2');
    }
    for (const text of ['', 'hunter2', '[]', 'null']) expect((await ask('store', text)).exitCode).toBe(1);
    expect(readFileSync(path.join(home, '.config/krmhub/credentials.json'), 'utf8')).toBe(before);
  });
});

it('login prints the setting of docker, until it is set', async () => {
  mkdirSync(path.join(home, '.docker'));
  const { asksKrmhub } = await import('./docker-credentials.js');
  const file = path.join(home, '.docker/config.json');
  for (const [config, asks] of [
    [{}, false],
    [{ credHelpers: { 'krm.example.com': 'krmhub' } }, true],
    [{ credHelpers: { 'krm.example.com': 'other' }, credsStore: 'krmhub' }, false],
    [{ credsStore: 'krmhub' }, true],
  ] as const) {
    writeFileSync(file, JSON.stringify(config));
    expect(await asksKrmhub({ env: { HOME: home } }, 'krm.example.com')).toBe(asks);
  }
});
