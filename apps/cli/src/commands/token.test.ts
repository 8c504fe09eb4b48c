import type { Token } from '@krmhub/api/model';
import { expect, it } from 'vitest';
import { findToken } from '../registry/tokens.js';
import { expectEnd, fileRegistry, runTest } from '../testing/command-line.js';

const registry = fileRegistry();

const run = (args: string[], options: { tty?: boolean; token?: string } = {}) =>
  runTest(args, {
    tty: options.tty ?? false,
    env: { ...registry.env, ...(options.token === undefined ? {} : { KRMHUB_TOKEN: options.token }) },
  });

it('prints only the secret on stdout, and it works until it is revoked', async () => {
  const created = await run(['token', 'create', 'ci', '--scope', 'publish', '--group', '*.example.com']);
  expect(created.exitCode).toBe(0);
  expect(created.out()).toMatch(/^krmhub_[a-f0-9]{72}\n$/);
  const secret = created.out().trim();
  expect(created.err()).not.toContain(secret);
  expect(created.err()).toContain('can publish in groups *.example.com');

  const whoami = await run(['whoami', '-o', 'json'], { token: secret });
  const token = JSON.parse(whoami.out());
  expect(token).toMatchObject({ name: 'ci', scopes: ['publish'], groups: ['*.example.com'] });
  const days = (Date.parse(token.expiresAt) - Date.parse(token.createdAt)) / 86_400_000;
  expect(days).toBe(90);
  const forbidden = await run(['token', 'list'], { token: secret });
  expect([forbidden.exitCode, forbidden.out()]).toEqual([6, '']);

  const revoked = await run(['token', 'revoke', token.id.slice(0, 8)]);
  expect(revoked.err()).toContain(`revoked token ci (${token.id})`);
  expect((await run(['whoami'], { token: secret })).err()).toContain('revoked');
  expect((await run(['token', 'list'])).out()).toMatch(
    new RegExp(`${token.id}\\t.*\\trevoked \\S+Z by admin\\t`),
  );
  const again = await run(['token', 'revoke', token.id]);
  expect([again.exitCode, again.err()]).toEqual([
    0,
    `unchanged: token ci (${token.id}) is already revoked\n`,
  ]);
});

it('accepts scopes, groups, and an expiry in every syntax', async () => {
  const args = ['token', 'create', 'all', '--scope', 'publish,yank', '--scope', 'publish', '--expires', '1y'];
  const created = await run([...args, '--group', 'a.example', '--group', 'b.example', '-o', 'json']);
  const token = JSON.parse(created.out());
  expect(token).toMatchObject({ scopes: ['publish', 'yank'], groups: ['a.example', 'b.example'] });
  expect(Date.parse(token.expiresAt) - Date.parse(token.createdAt)).toBe(365 * 86_400_000);
  expect(token.token).toMatch(/^krmhub_/);
});

it('lists tokens within 80 columns, and completely in a pipe', async () => {
  await run([
    'token',
    'create',
    'n'.repeat(100),
    '--scope',
    'publish,yank',
    '--group',
    'a.example,b.example',
  ]);
  const list = await run(['token', 'list'], { tty: true });
  for (const line of list.out().trimEnd().split('\n')) expect(visibleLength(line)).toBeLessThanOrEqual(80);
  expect(list.out()).toMatch(/ID +NAME +SCOPES +GROUPS +CREATED +EXPIRES +LAST USED/);
  const { tokens } = JSON.parse((await run(['token', 'list', '-o', 'json'])).out());
  const lines = (await run(['token', 'list'])).out().trimEnd().split('\n');
  expect(lines.map((line) => line.split('\t')[0])).toEqual(tokens.map(({ id }: { id: string }) => id));
  expect(lines.join('\n')).toContain('n'.repeat(100));
  await run(['token', 'create', 'builds', '--scope', 'push', '--repository', 'team/*,tools']);
  expect((await run(['token', 'list'])).out()).toContain('builds\tpush:team/*+tools\t');
  expect(lines.join('\n')).not.toMatch(/krmhub_[a-f0-9]/);
});

it.each([
  [['token', 'create', 'x'], '--scope'],
  [['token', 'create', 'x', '--scope', 'everything'], 'publish, yank, push, scim, audit, admin'],
  [['token', 'create', 'x', '--scope', 'publish', '--expires', '11y'], '3650d'],
  [['token', 'create', 'x', '--scope', 'publish', '--expires', '0d'], '3650d'],
  [['token', 'create', 'x', '--scope', 'publish', '--group', 'A B'], 'glob'],
  [['token', 'create', 'x', '--scope', 'admin', '--group', 'a.example'], 'admin'],
  [['token', 'forge'], 'forge'],
])('refuses %j as wrong use', async (args, part) => {
  const io = await run(args);
  expect([io.exitCode, io.out()]).toEqual([2, '']);
  expect(io.err()).toContain(part);
});

it('rejects unknown and too short token IDs', async () => {
  expect((await run(['token', 'revoke', 'zzzz'])).exitCode).toBe(3);
  expect((await run(['token', 'revoke', 'zzz'])).exitCode).toBe(2);
  expect((await run(['token', 'revoke', ''])).exitCode).toBe(2);
});

it('accepts a unique prefix of a token ID', () => {
  const token = (id: string, revokedAt?: string) =>
    ({ id, name: id, ...(revokedAt === undefined ? {} : { revokedAt }) }) as Token;
  const tokens = [token('abcd-1'), token('abcd-2'), token('beef-1', '2030-01-01T00:00:00Z'), token('beef-2')];
  expect(() => findToken(tokens, 'abcd')).toThrow(/ambiguous/);
  expect(findToken(tokens, 'ABCD-2').id).toBe('abcd-2');
  expect(findToken(tokens, 'beef').id).toBe('beef-2');
  expect(findToken(tokens, 'beef-1').id).toBe('beef-1');
});

it('revokes a token by its name, if only one has it', async () => {
  for (const name of ['twin', 'twin', 'single']) await run(['token', 'create', name, '--scope', 'publish']);
  const revoked = await run(['token', 'revoke', 'single']);
  expectEnd(revoked, 0, 'revoked token single (');
  const twins = await run(['token', 'revoke', 'twin']);
  expect([twins.exitCode, twins.err()]).toEqual([
    2,
    expect.stringMatching(/2 tokens have the name "twin"\n.*IDs: \w+/),
  ]);
});

function visibleLength(line: string): number {
  return line.replace(/\u001b\[\d+m/g, '').length;
}

it('revokes a leaked token for any client, with the same output for unknown tokens', async () => {
  const secret = (await run(['token', 'create', 'leaky', '--scope', 'publish'])).out().trim();
  const report = (stdin: string) =>
    runTest(['token', 'report-leak'], { stdin, env: { KRMHUB_REGISTRY: registry.url } });
  const reported = await report(`${secret}\n`);
  expect([reported.exitCode, reported.out()]).toEqual([0, '']);
  expect(reported.err()).toBe(
    `reported to ${registry.url}: if the token was valid there, it is now revoked\n`,
  );
  expect((await run(['whoami'], { token: secret })).err()).toContain('revoked');
  expect((await report(secret)).err()).toBe(reported.err());
  const list = JSON.parse((await run(['token', 'list', '-o', 'json'])).out()) as { tokens: Token[] };
  expect(list.tokens.find(({ name }) => name === 'leaky')?.revokedReason).toBe('reported as leaked');
  expect((await run(['token', 'list'])).out()).toMatch(
    /leaky\tpublish\t\*\trevoked 20\S+Z, reported as leaked\tnever\t20\S+Z\tadmin\t-\t-\n/,
  );
  expectEnd(await report('krmhub_123'), 2, 'not a complete krmhub token');
  expect((await report('')).exitCode).toBe(2);
});

it('prints the last use of a token', async () => {
  const secret = (await run(['token', 'create', 'used', '--scope', 'publish'])).out().trim();
  const cell = async () =>
    (await run(['token', 'list'])).out().match(/\tused\t.*\t(\S+)\t\S+\tadmin\t-\t-\n/)?.[1];
  expect(await cell()).toBe('never');
  await run(['whoami'], { token: secret });
  expect(Date.now() - Date.parse((await cell()) ?? '')).toBeLessThan(600_000);
});

it('tells the owner of the first token to replace it, until that is done', async () => {
  const first = await run(['whoami', '-o', 'json']);
  const { id } = JSON.parse(first.out()) as Token;
  const hint = (await run(['whoami'])).err();
  expect(hint).toContain('this is the first administrator token');
  expect(hint).toContain(`krmhub token revoke ${id}`);
  expect(first.err()).toBe('');
  const named = (await run(['token', 'create', 'alice', '--scope', 'admin'])).out().trim();
  expect((await run(['whoami'], { token: named })).err()).not.toContain('first administrator token');
});
