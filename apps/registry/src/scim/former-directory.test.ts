import type { AccessDecision, RestoreUserResult } from '@krmhub/api/model';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hashSecret, newSecret } from '../http/auth/tokens.js';
import { signedIn } from '../testing/operator-session.js';
import { SCIM_ISSUER, SCIM_PROVIDER, ScimClient } from '../testing/scim-client.js';
import { openTestRegistry, type TestRegistry } from '../testing/test-registry.js';

/** Users of a directory after the operator removed its provider, or put another one before it. */
const OTHER = { ...SCIM_PROVIDER, id: 'other', name: 'Other', issuer: 'https://other.example.com' };

let directory: ScimClient;
let registry: TestRegistry;
let user: string;
/** The `Authorization` header with a personal token. */
let own: string;
beforeEach(async () => {
  directory = await ScimClient.open();
  registry = directory.registry;
  const alice = await directory.addUser('alice', { displayName: 'Alice' });
  await directory.addGroup('operators', [alice]);
  user = (await directory.user('alice'))!.id;
  own = await personalToken();
  await directory.patch(`/Users/${alice}`, { op: 'replace', path: 'active', value: false });
});
afterEach(() => registry.close());

/** Starts the registry with other providers. */
async function restart(signIn: (typeof SCIM_PROVIDER)[]): Promise<void> {
  const { folder } = registry;
  await registry.parts.close();
  registry = await openTestRegistry({ folder, config: { signIn } });
}

async function personalToken(): Promise<string> {
  const { store, clock } = registry.parts;
  const secret = newSecret();
  const limits = { scopes: ['read'], groups: ['*'], repositories: ['*'] };
  const of = { createdAt: clock().toISOString(), createdBy: 'alice', user: (await store.user(user))! };
  await store.createToken({ id: secret.slice(8, 24), name: 'own', ...limits, ...of }, hashSecret(secret));
  return `Bearer ${secret}`;
}

const act = (verb: string) =>
  registry.send<RestoreUserResult & { code?: string; hint?: string }>(
    'POST',
    `/api/v1/users/${user}/${verb}`,
  );
const whoami = async (own: string) =>
  (await registry.send<{ detail?: string; hint?: string }>('GET', '/api/v1/whoami', undefined, own)).body;

describe.each([
  ['was removed', [OTHER], true],
  ['is the only one that was', [], true],
  ['is not the first one any more', [OTHER, SCIM_PROVIDER], false],
])('a user whom the directory of a provider suspended that %s', (_, signIn, isGone) => {
  it('is restored by an administrator, and must sign in', async () => {
    await restart(signIn);
    expect(await whoami(own)).toMatchObject({
      detail: 'the token "own" is of a suspended user',
      hint: expect.stringContaining('krmhub user restore'),
    });
    const { status, body } = await act('restore');
    expect([status, body.outcome, body.tokens, body.problem]).toEqual([
      ...[200, 'restored', 0],
      isGone ? `the registry has no identity provider ${SCIM_ISSUER}, so the user cannot sign in` : undefined,
    ]);
    expect(body.user).not.toHaveProperty('suspendedAt');
    expect(body.user).toMatchObject({ groups: [], teams: [] });
    expect(await whoami(own)).toMatchObject({ detail: 'the token "own" is revoked' });
    const { rows } = await registry.parts.store.auditRows({ object: `user/${user}` }, { limit: 2 });
    expect(rows.map(({ action, actor, outcome }) => [action, actor, outcome])).toEqual([
      ['user.restore', 'tester', 'done'],
      ['user.remove', 'tester', 'done'],
    ]);
    expect((await act('restore')).body.outcome).toBe('unchanged');
    expect((await act('suspend')).body.outcome).toBe('suspended');
    expect((await act('restore')).body.outcome).toBe('restored');
  });

  it('is restored on the page of users', async () => {
    await restart(signIn);
    const browser = await signedIn(registry);
    const page = await browser.text('/operate/users');
    expect(page).toContain(`/operate/users/${user}/restore`);
    expect(page.includes('cannot sign in: the registry no longer has this identity provider')).toBe(isGone);
    expect((await browser.act(`/operate/users/${user}/restore`)).status).toBe(303);
    expect((await registry.parts.store.user(user))?.suspendedAt).toBeUndefined();
  });
});

it('a directory that is there again manages a user whom an administrator restored as a new one', async () => {
  await restart([]);
  await act('restore');
  await restart([SCIM_PROVIDER]);
  directory = await ScimClient.open(registry);
  expect((await directory.send('GET', '/Users')).body.totalResults).toBe(0);
  const { body } = await directory.send('POST', '/Users', { userName: 'alice', active: false });
  expect((await registry.parts.store.user(user))?.directory).toEqual({ isActive: false, groups: [] });
  expect((await act('restore')).body.code).toBe('conflict');
  await directory.patch(`/Users/${body.id}`, { op: 'replace', path: 'active', value: true });
  expect((await registry.parts.store.user(user))?.suspendedAt).toBeUndefined();
});

it('the directory of the first provider alone restores, as messages and pages say', async () => {
  expect(await whoami(own)).toMatchObject({ hint: expect.stringContaining('who manages the directory') });
  const refused = await act('restore');
  expect([refused.status, refused.body.hint]).toEqual([409, expect.stringContaining('in the directory')]);
  const page = await (await signedIn(registry)).text('/operate/users');
  expect(page).not.toContain(`/operate/users/${user}/restore`);
  expect(page).toContain('activate the user there');
});

it('a check of access says why a user has no rights, and only then', async () => {
  await restart([OTHER, SCIM_PROVIDER]);
  await act('restore');
  const check = async () => {
    const wanted = { actor: `user:${user}`, action: 'read', object: 'example.com' };
    return (await registry.send<AccessDecision>('POST', '/api/v1/access/check', wanted)).body;
  };
  const { confirmedAt, ...known } = (await registry.parts.store.user(user))!;
  expect(await check()).toMatchObject({ allowed: true });
  registry.advance(31 * 86_400_000);
  expect(await check()).toMatchObject({ allowed: false, reason: expect.stringContaining(confirmedAt) });
  const at = registry.parts.clock().toISOString();
  await registry.parts.store.confirmUser(known, { at, isSignIn: true });
  expect(await check()).toMatchObject({ allowed: true });
  await restart([OTHER]);
  expect(await check()).toMatchObject({
    ...{ allowed: false, reason: 'the registry no longer has the identity provider of the user' },
  });
});
