import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Random } from '@krmhub/yaml/testing/random';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { expectEnd, fileRegistry, runTest, temporaryFolder, testIo } from '../testing/command-line.js';
import { saveToken, tokenFor } from './credentials.js';

/** Two registries, of which one has two origins. */
const first = fileRegistry();
const second = fileRegistry();
const tokens: Record<string, { name: string; token: string; expiresAt?: string }[]> = {};
let origins: string[];
let home: string;

const run = (
  args: string[],
  { stdin = '', env = {} }: { stdin?: string; env?: Record<string, string> } = {},
) => runTest(args, { stdin, env: { HOME: home, ...env } });
const file = () => path.join(home, '.config/krmhub/credentials.json');
const list = async (env: Record<string, string> = {}) =>
  JSON.parse((await run(['login', '--list', '-o', 'json'], { env })).out());

beforeAll(async () => {
  origins = [first.url, first.url.replace('127.0.0.1', 'localhost'), second.url];
  for (const registry of [first, second]) {
    const args = ['token', 'create', 'ci', '--scope', 'publish', '--expires', '30d', '-o', 'json'];
    const { name, token, expiresAt } = JSON.parse((await runTest(args, { env: registry.env })).out());
    const both = [
      { name: 'admin', token: registry.token },
      { name, token, expiresAt },
    ];
    for (const origin of registry === first ? origins.slice(0, 2) : [second.url]) tokens[origin] = both;
  }
});
beforeEach(() => {
  home = temporaryFolder();
});

describe.each([1, 2, 3])('a random sequence of commands (seed %i)', (seed) => {
  it('leaves exactly the registries that were not logged out, and one default', async () => {
    const random = new Random(seed);
    const saved = new Map<string, { name: string; token: string; expiresAt?: string }>();
    let chosen: string | undefined;
    for (let step = 0; step < 25; step++) {
      const origin = random.pick(origins);
      const kind = random.pick(['login', 'login', 'use', 'logout', 'rejected', 'all'] as const);
      if (kind === 'login') {
        const known = random.pick(tokens[origin]!);
        expectEnd(await run(['login', origin], { stdin: known.token }), 0, known.name);
        saved.set(origin, known);
        chosen = origin;
      } else if (kind === 'use') {
        expectEnd(await run(['login', '--use', origin]), saved.has(origin) ? 0 : 3);
        if (saved.has(origin)) chosen = origin;
      } else if (kind === 'rejected') {
        expectEnd(await run(['login', origin], { stdin: `krmhub_${'0'.repeat(72)}` }), 6);
      } else {
        const all = kind === 'all' && random.chance(0.3);
        expectEnd(await run(all ? ['logout', '--all'] : ['logout', origin]), 0);
        for (const one of all ? origins : [origin]) {
          saved.delete(one);
          if (chosen === one) chosen = undefined;
        }
      }
      const { defaultRegistry, registries } = await list();
      expect(defaultRegistry).toBe(chosen ?? 'http://localhost:8080');
      expect(registries).toEqual(
        [...saved.keys()].sort().map((registry) => {
          const { token: _token, ...known } = saved.get(registry)!;
          return { registry, ...known, isDefault: registry === chosen, savedAt: expect.any(String) };
        }),
      );
      const io = testIo({ env: { HOME: home } });
      for (const one of origins) expect(await tokenFor(io, new URL(one))).toBe(saved.get(one)?.token);
      if (saved.size > 0) expect(statSync(file()).mode & 0o777).toBe(0o600);
    }
    if (chosen !== undefined) {
      const whoami = JSON.parse((await run(['whoami', '-o', 'json'])).out());
      expect(whoami).toMatchObject({ registry: chosen, name: saved.get(chosen)!.name });
    }
  });
});

it('loses no token of logins and logouts at the same time', async () => {
  const io = testIo({ env: { HOME: home } });
  const urls = Array.from({ length: 12 }, (_, at) => new URL(`https://r${at}.example.com`));
  await Promise.all(urls.slice(0, 6).map((url) => saveToken(io, url, `token-of-${url.host}`)));
  await Promise.all(
    urls.map((url, at) =>
      at < 3 ? run(['logout', url.origin]) : at < 6 ? undefined : saveToken(io, url, `token-of-${url.host}`),
    ),
  );
  const { registries } = await list();
  expect(registries.map(({ registry }: { registry: string }) => registry).sort()).toEqual(
    urls
      .slice(3)
      .map(({ origin }) => origin)
      .sort(),
  );
});

it('reads the file of a version that saved only tokens, and keeps its entries', async () => {
  mkdirSync(path.dirname(file()), { recursive: true });
  const savedAt = '2026-01-02T03:04:05.678Z';
  const old = { version: 1, tokens: { 'http://localhost:8080': { token: 'old-token', savedAt } } };
  writeFileSync(file(), JSON.stringify(old), { mode: 0o600 });
  const row = { registry: 'http://localhost:8080', isDefault: true, savedAt };
  expect(await list()).toEqual({
    defaultRegistry: 'http://localhost:8080',
    registries: [row],
    environment: {},
  });
  await run(['login', first.url], { stdin: first.token });
  const { registries } = await list();
  expect(registries).toContainEqual({ ...row, isDefault: false });
  expect(JSON.parse(readFileSync(file(), 'utf8')).tokens['http://localhost:8080'].token).toBe('old-token');
});

it('prints which registries have a token, never the token, and what environment variables override', async () => {
  await run(['login', second.url], { stdin: tokens[second.url]![1]!.token });
  await run(['login', first.url], { stdin: first.token });
  const plain = await run(['login', '--list']);
  const rows = plain
    .out()
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t'));
  expect(rows.map(([mark, registry, name]) => [mark, registry, name]).sort()).toEqual([
    ['*', first.url, 'admin'],
    ['-', second.url, 'ci'],
  ]);
  const shown = await runTest(['login', '--list'], { tty: true, env: { HOME: home } });
  expect(shown.out()).toMatch(/DEFAULT +REGISTRY +NAME +EXPIRES/);
  expect(shown.out()).toContain('in 29d');
  for (const { out } of [plain, shown]) expect(out()).not.toContain(first.token.slice(0, 16));

  const env = { KRMHUB_REGISTRY: second.url, KRMHUB_TOKEN: 'secret' };
  const overridden = await run(['login', '--list'], { env });
  expect(overridden.err()).toContain(`KRMHUB_REGISTRY is set: commands use ${second.url}, not ${first.url}`);
  expect(overridden.err()).toContain(`KRMHUB_TOKEN is set: commands use it for ${second.url}`);
  expect((await list(env)).environment).toEqual({ registry: second.url, tokenRegistry: second.url });
});

it('does not send KRMHUB_TOKEN to the default registry without KRMHUB_REGISTRY', async () => {
  await run(['login', first.url], { stdin: first.token });
  const env = { KRMHUB_TOKEN: 'secret' };
  const whoami = await run(['whoami', '-o', 'json'], { env });
  expect(JSON.parse(whoami.out())).toMatchObject({ registry: first.url, name: 'admin' });
  const listed = await run(['login', '--list'], { env });
  expect(listed.err()).toContain(`KRMHUB_TOKEN is for http://localhost:8080, not for ${first.url}`);
  await run(['logout']);
  await run(['login', second.url], { stdin: second.token });
  expectEnd(
    await run(['whoami', '--registry', first.url], { env }),
    6,
    'KRMHUB_TOKEN is for http://localhost:8080',
  );
});

it.each([
  [['login', '--list', 'https://a.example.com']],
  [['login', '--list', '--use', 'https://a.example.com']],
  [['login', '--use', 'https://a.example.com', 'https://b.example.com']],
  [['login', '--use', 'a.example.com']],
  [['logout', '--all', 'https://a.example.com']],
])('rejects arguments that mean two things, or none: %j', async (args) => {
  expect((await run(args)).exitCode).toBe(2);
});

it('changes nothing while the file is not valid, and names it', async () => {
  mkdirSync(path.dirname(file()), { recursive: true });
  for (const text of ['{', '{"version":1,"tokens":{},"defaultRegistry":"javascript:1"}', '{"version":1}']) {
    writeFileSync(file(), text, { mode: 0o600 });
    for (const args of [['login', '--list'], ['logout', '--all'], ['whoami']]) {
      expectEnd(await run(args), 5, `credentials file ${file()} is not valid`);
    }
    // A command without a registry needs no default.
    expect((await run(['lint', 'missing.yaml'])).err()).not.toContain('credentials');
    expect(readFileSync(file(), 'utf8')).toBe(text);
  }
});
