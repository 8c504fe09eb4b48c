import type { RestoreUserResult, SuspendResult, UserPage, UserReport } from '@krmhub/api/model';
import type { UserRecord } from '@krmhub/catalog';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { hashSecret, newSecret } from '../http/auth/tokens.js';
import { openTestRegistry, type TestRegistry } from '../testing/test-registry.js';

const ISSUER = 'https://sso.example.com';
const DAY = 86_400_000;

let registry: TestRegistry;
beforeAll(async () => {
  registry = await openTestRegistry({});
});
afterAll(() => registry.close());

const confirm = (subject: string, name: string, email?: string): Promise<UserRecord> =>
  registry.parts.store.confirmUser(
    { issuer: ISSUER, subject, name, groups: ['ops'], ...(email === undefined ? {} : { email }) },
    { at: registry.parts.clock().toISOString(), isSignIn: true },
  );

/** Gives a user a personal token. Returns its `Authorization` header. */
async function personalToken(user: UserRecord, { expiresIn = DAY } = {}): Promise<string> {
  const secret = newSecret();
  const now = registry.parts.clock();
  const token = {
    ...{ id: secret.slice(8, 24), name: 'own', scopes: ['read'], groups: ['*'], repositories: ['*'], user },
    ...{ createdAt: now.toISOString(), createdBy: user.name },
    expiresAt: new Date(now.getTime() + expiresIn).toISOString(),
  };
  await registry.parts.store.createToken(token, hashSecret(secret));
  return `Bearer ${secret}`;
}

async function beginSession(user: UserRecord, hash: string): Promise<void> {
  const at = registry.parts.clock();
  const expiresAt = new Date(at.getTime() + DAY).toISOString();
  const session = { hash, user: user.id, createdAt: at.toISOString(), expiresAt };
  const act = { at: session.createdAt, by: user.name };
  await registry.parts.store.beginSession(session, { maxOfOne: 10, max: 100 }, act);
}

it('lists users in pages, which a text narrows', async () => {
  const alice = await confirm('a', 'Alice Über', 'alice@example.com');
  const bob = await confirm('b', 'Bob', 'BOB@example.org');
  const carol = await confirm('c', 'Carol');
  const all = async (query = '') => {
    const found: string[] = [];
    for (let after = ''; ; ) {
      const { body, status } = await registry.send<UserPage>('GET', `/api/v1/users?limit=1${query}${after}`);
      expect([status, body.users.length]).toEqual([200, 1]);
      found.push(...body.users.map(({ id }) => id));
      if (body.next === undefined) return found;
      after = `&after=${body.next}`;
    }
  };
  expect(await all()).toEqual([alice.id, bob.id, carol.id].sort());
  expect(await all('&q=ALICE')).toEqual([alice.id]);
  expect(await all(`&q=${encodeURIComponent('üBER')}`)).toEqual([alice.id]);
  expect(await all('&q=bob@')).toEqual([bob.id]);
  expect(await all('&q=example')).toEqual([alice.id, bob.id].sort());
  expect((await registry.send<UserPage>('GET', '/api/v1/users?q=%25')).body).toEqual({ users: [] });
});

it('shows a user with the teams, and counts what the user can sign in with', async () => {
  const alice = await confirm('shown', 'Shown', 'shown@example.com');
  await personalToken(alice);
  await personalToken(alice, { expiresIn: -1 });
  await beginSession(alice, 'shown');
  const access = `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  openGroups: ["*"]
  teams:
  - {name: operators, members: [{ssoGroup: ops}]}
  - {name: one, members: [{user: "${ISSUER} shown"}]}
  - {name: other, members: [{user: "${ISSUER} other"}]}
`;
  expect((await registry.send('PUT', '/api/v1/access', access)).status).toBe(200);
  const { body } = await registry.send<UserReport>('GET', `/api/v1/users/${alice.id}`);
  expect(body).toEqual({
    ...{ id: alice.id, issuer: ISSUER, subject: 'shown', name: 'Shown', email: 'shown@example.com' },
    ...{ groups: ['ops'], teams: ['one', 'operators'], sessions: 1, tokens: 1 },
    ...{ createdAt: alice.createdAt, confirmedAt: alice.confirmedAt, signedInAt: alice.signedInAt },
  });
});

it('suspends a user at once, and says what ended; restoring lets the tokens work again', async () => {
  const user = await confirm('suspended', 'Suspended');
  const own = await personalToken(user);
  await beginSession(user, 'suspended');
  const whoami = async () => (await registry.send('GET', '/api/v1/whoami', undefined, own)).body;
  expect(await whoami()).toMatchObject({ name: 'own' });
  const act = async <Result>(verb: string) =>
    (await registry.send<Result>('POST', `/api/v1/users/${user.id}/${verb}`)).body;
  const suspended = await act<SuspendResult>('suspend');
  expect(suspended).toMatchObject({
    outcome: 'suspended',
    user: { id: user.id, suspendedBy: 'tester' },
    ended: { sessions: 1, tokens: 1 },
  });
  expect(await whoami()).toMatchObject({
    ...{ status: 401, detail: 'the token "own" is of a suspended user' },
    hint: expect.stringContaining('krmhub user restore'),
  });
  expect(await registry.parts.store.session('suspended')).toBeUndefined();
  expect(await act('suspend')).toMatchObject({ outcome: 'unchanged', ended: { sessions: 0, tokens: 1 } });
  const restored = await act<RestoreUserResult>('restore');
  expect(restored).toMatchObject({ outcome: 'restored', tokens: 1 });
  expect(restored.user).not.toHaveProperty('suspendedAt');
  expect(await whoami()).toMatchObject({ name: 'own' });
  expect(await act('restore')).toMatchObject({ outcome: 'unchanged' });
  const { rows } = await registry.parts.store.auditRows({ object: `user/${user.id}` }, { limit: 10 });
  expect(rows.map(({ action, outcome }) => [action, outcome])).toEqual([
    ['user.restore', 'done'],
    ['user.suspend', 'done'],
  ]);
});

it('lets no administrator suspend their own account', async () => {
  const user = await confirm('self', 'Self');
  const secret = newSecret();
  const now = registry.parts.clock();
  const scopes = ['read', 'admin'];
  const token = {
    ...{ id: 'self-token', name: 'own', scopes, groups: ['*'], repositories: ['*'], user },
    ...{ createdAt: now.toISOString(), createdBy: user.name },
    expiresAt: new Date(now.getTime() + DAY).toISOString(),
  };
  await registry.parts.store.createToken(token, hashSecret(secret));
  const access = `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  openGroups: ["*"]
  teams: [{name: admins, members: [{ssoGroup: ops}]}]
  grants: [{to: {team: admins}, may: [admin], in: {group: "*"}}]
`;
  expect((await registry.send('PUT', '/api/v1/access', access)).status).toBe(200);
  const suspend = (id: string) =>
    registry.send('POST', `/api/v1/users/${id}/suspend`, undefined, `Bearer ${secret}`);
  expect((await suspend(user.id)).body).toMatchObject({
    status: 403,
    detail: expect.stringContaining('your own account'),
  });
  const other = await confirm('not-self', 'Not self');
  expect((await suspend(other.id)).status).toBe(200);
  expect((await registry.parts.store.user(user.id))?.suspendedAt).toBeUndefined();
});

it('knows no other users', async () => {
  const unknown = '00000000-0000-4000-8000-000000000000';
  for (const [method, path] of [
    ['GET', ''],
    ['POST', '/suspend'],
    ['POST', '/restore'],
  ] as const) {
    expect((await registry.send(method, `/api/v1/users/${unknown}${path}`)).body.code).toBe('not-found');
    expect((await registry.send(method, `/api/v1/users/alice${path}`)).body.code).toBe('invalid-request');
  }
});
