import type { UserDetail } from '@krmhub/api/model';
import { scriptedServer } from '@krmhub/oci/testing/scripted-server';
import { beforeAll, expect, it } from 'vitest';
import { expectEnd, fileRegistry, runTest } from '../testing/command-line.js';

const ISSUER = 'https://sso.example.com';
const registry = fileRegistry({
  KRMHUB_PUBLIC_URL: 'https://krm.example.com',
  KRMHUB_OIDC_ISSUER: ISSUER,
  KRMHUB_OIDC_CLIENT_ID: 'krmhub',
  KRMHUB_OIDC_CLIENT_SECRET: 'secret of the client',
});

const run = (args: string[], { tty = false } = {}) => runTest(args, { tty, env: registry.env, columns: 120 });
const users = async (...args: string[]): Promise<UserDetail[]> =>
  JSON.parse((await run(['user', 'list', ...args, '-o', 'json'])).out()).users;

/** Announces users as a directory does. */
beforeAll(async () => {
  const token = (await run(['token', 'create', 'directory', '--scope', 'scim'])).out().trim();
  for (const [userName, displayName, email] of [
    ['00u1', 'Alice Example', 'alice@example.com'],
    ['00u2', 'Bob', 'bob@example.com'],
    ['00u3', 'Twin', 'one@example.org'],
    ['00u4', 'Twin', 'other@example.org'],
  ]) {
    const response = await fetch(`${registry.url}/scim/v2/Users`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/scim+json' },
      body: JSON.stringify({ userName, displayName, emails: [{ value: email }] }),
    });
    expect(response.status).toBe(201);
  }
});

it('lists users, or those with a text in the name or the address', async () => {
  expect((await users()).map(({ subject }) => subject).sort()).toEqual(['00u1', '00u2', '00u3', '00u4']);
  expect((await users('EXAMPLE.ORG')).map(({ subject }) => subject).sort()).toEqual(['00u3', '00u4']);
  const [alice] = await users('alice');
  expect((await run(['user', 'list', 'alice'])).out()).toBe(
    `${alice!.id}\tAlice Example\talice@example.com\t-\tnever\tactive\t${ISSUER}\t00u1\n`,
  );
  const table = (await run(['user', 'list'], { tty: true })).out();
  expect(table).toMatch(/NAME +E-MAIL +TEAMS +SIGNED IN +STATE +ID/);
  for (const { id } of await users()) expect(table).toContain(id);
});

it('shows a user by name, address, or ID', async () => {
  const [alice] = await users('alice');
  const shown = (await run(['user', 'show', 'alice example'])).out();
  expect(shown).toContain('subject:   00u1\n');
  expect(shown).toContain('state:     active\n');
  for (const name of ['ALICE@example.com', alice!.id.toUpperCase()])
    expect((await run(['user', 'show', name])).out()).toBe(shown);
  expectEnd(await run(['user', 'show', 'alice']), 3, 'user "alice" not found');
  expectEnd(await run(['user', 'show', 'twin']), 2, '2 users have the name or address "twin"');
  expectEnd(await run(['user', 'show', '00000000-0000-4000-8000-000000000000']), 3, 'not found');
});

it('suspends and restores a user, and says what ends', async () => {
  const suspended = await run(['user', 'suspend', 'bob@example.com']);
  expectEnd(suspended, 0, 'suspended Bob (bob@example.com)\n');
  expect(suspended.err()).toContain('0 sessions ended; 0 personal tokens refused from now on');
  expectEnd(
    await run(['user', 'suspend', 'Bob']),
    0,
    'unchanged: Bob (bob@example.com) is already suspended',
  );
  expect((await run(['user', 'list', 'bob'])).out()).toMatch(/\tsuspended \S+Z by admin\t/);
  expectEnd(await run(['user', 'restore', 'Bob']), 0, 'restored Bob (bob@example.com): 0 personal tokens');
  expectEnd(await run(['user', 'restore', 'Bob']), 0, 'unchanged: Bob (bob@example.com) is not suspended');
  const { outcome, user } = JSON.parse((await run(['user', 'suspend', 'Bob', '-o', 'json'])).out());
  expect([outcome, user.suspendedBy]).toEqual(['suspended', 'admin']);
});

it('warns that a user who was restored cannot sign in', async () => {
  const id = '00000000-0000-4000-8000-000000000001';
  const user = {
    ...{ id, issuer: ISSUER, subject: '1', name: 'Carol', groups: [], teams: [] },
    ...{ createdAt: '2030-01-01T00:00:00.000Z', confirmedAt: '2030-01-01T00:00:00.000Z' },
  };
  const problem = `the registry has no identity provider ${ISSUER}, so the user cannot sign in`;
  const server = await scriptedServer((_, response) => {
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ outcome: 'restored', user, tokens: 0, problem }));
  });
  try {
    const env = { KRMHUB_REGISTRY: `http://${server.host}`, KRMHUB_TOKEN: registry.token };
    const io = await runTest(['user', 'restore', id], { env });
    expectEnd(io, 0, 'restored Carol: 0 personal tokens accepted again\n');
    expect(io.err()).toContain(`warning: ${problem}\n`);
  } finally {
    await server.close();
  }
});
