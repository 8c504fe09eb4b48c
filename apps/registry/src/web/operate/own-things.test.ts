import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hashSecret, newSecret } from '../../http/auth/tokens.js';
import { TestBrowser } from '../../testing/operator-session.js';
import { signInSettings, TestProvider } from '../../testing/test-provider.js';
import {
  definitionText,
  openTestRegistry,
  releasePath,
  type TestRegistry,
} from '../../testing/test-registry.js';

const PUBLIC_URL = 'https://krm.example.com';
const ACCESS = `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  teams:
  - {name: admins, members: [{ssoGroup: admins}]}
  - {name: labels, displayName: Labels team, members: [{ssoGroup: platform}]}
  groups:
  - {pattern: labels.example.com, owner: labels}
  - {pattern: "*.labels.example.com", owner: labels}
  grants: [{to: {team: admins}, may: [admin], in: {group: "*"}}]
`;

let idp: TestProvider;
let registry: TestRegistry;
beforeEach(async () => {
  idp = await TestProvider.start({ redirectUri: `${PUBLIC_URL}/sign-in/callback`, isIdTokenComplete: true });
  idp.users.set('root', { name: 'Root', groups: ['admins'] });
  idp.users.set('bob', { name: 'Bob <i>', email: 'bob@example.com' });
  registry = await openTestRegistry({ config: { publicUrl: PUBLIC_URL, signIn: [signInSettings(idp)] } });
  expect(await registry.send('PUT', '/api/v1/access', ACCESS)).toMatchObject({ status: 200 });
});
afterEach(async () => {
  await registry.close();
  await idp.close();
});

async function user(name: string): Promise<TestBrowser> {
  const browser = new TestBrowser(registry, PUBLIC_URL);
  const left = await browser.get('/sign-in/test/start');
  const back = await idp.signIn(left.headers.get('location')!, name);
  expect((await browser.get(back.pathname + back.search)).status).toBe(200);
  return browser;
}

const find = async (subject: string) =>
  (await registry.parts.store.users({ limit: 10 })).find((one) => one.subject === subject)!;

/** Adds a personal token. */
async function personalToken(subject: string, name: string): Promise<{ id: string; secret: string }> {
  const secret = newSecret();
  const token = {
    ...{ id: randomUUID(), name, scopes: ['read' as const], groups: ['*'], repositories: ['*'] },
    ...{ user: await find(subject), createdAt: new Date().toISOString(), createdBy: name },
  };
  await registry.parts.store.createToken(token, hashSecret(secret));
  return { id: token.id, secret };
}

const sessionsOn = (page: string) => page.match(/\/operate\/sessions\/[0-9a-f]{16}\/end/g) ?? [];

describe('the overview of a user', () => {
  it('shows teams, what they own, and the groups at the provider', async () => {
    const page = await (await user('alice')).text('/operate');
    expect(page).toContain('Team <b><bdi>Labels team</bdi></b>');
    expect(page).toContain('<a href="/functions/labels.example.com">labels.example.com</a>');
    expect(page).toContain('</a>, *.labels.example.com</li>');
    expect(page).toMatch(/Your groups at the identity provider: <bdi>platform<\/bdi>/);
    const other = await (await user('bob')).text('/operate');
    expect(other).toContain('You are in no team, so you can read what is public or internal');
    expect(other).not.toContain('labels.example.com');
    expect(other).not.toContain('<i>');
  });

  it('has only the tabs that the user may open', async () => {
    const tabs = (page: string) =>
      [...page.matchAll(/<li><a href="\/operate(?:\/(\w+))?"/g)]
        .map(([, name = 'overview']) => name)
        .slice(1);
    const all = [
      'overview',
      'sources',
      'recipes',
      'releases',
      'policies',
      'access',
      'users',
      'tokens',
      'publishers',
      'events',
      'audit',
    ];
    expect(tabs(await (await user('root')).text('/operate'))).toEqual(all);
    const own = all.filter((name) => !['access', 'users', 'audit'].includes(name));
    expect(tabs(await (await user('alice')).text('/operate'))).toEqual(own);
    const publisher = new TestBrowser(registry, PUBLIC_URL);
    await publisher.signIn((await registry.token({ scopes: ['publish'] })).secret);
    const none = own.filter((name) => name !== 'tokens');
    expect(tabs(await publisher.text('/operate'))).toEqual(none);
  });

  it('shows personal tokens, which their user revokes, and no others', async () => {
    const [alice, bob] = [await user('alice'), await user('bob')];
    const token = await personalToken('alice', 'laptop of alice');
    expect(await alice.text('/operate')).toContain('laptop of alice');
    const list = await alice.text('/operate/tokens');
    expect(list).toContain('laptop of alice');
    expect(list).not.toContain('tester');
    const revoke = `/operate/tokens/${token.id}/revoke`;
    expect((await bob.get(revoke)).status).toBe(404);
    expect((await bob.act(revoke)).status).toBe(404);
    const headers = { Authorization: `Bearer ${token.secret}` };
    expect((await registry.request('/api/v1/whoami', { headers })).status).toBe(200);
    expect((await alice.get(revoke)).status).toBe(200);
    expect((await alice.act(revoke)).status).toBe(303);
    expect((await registry.request('/api/v1/whoami', { headers })).status).toBe(401);
    const [admin] = await registry.parts.store.tokens();
    expect((await alice.act(`/operate/tokens/${admin!.id}/revoke`)).status).toBe(404);
    expect((await alice.get('/operate/tokens/new')).status).toBe(200);
  });
});

describe('what waits for a user', () => {
  const DAY = 86_400_000;
  const day = (days: number) => new Date(registry.parts.clock().getTime() + days * DAY).toISOString();

  it('is nothing as long as nothing waits', async () => {
    for (const name of ['root', 'alice', 'bob'])
      expect(await (await user(name)).text('/operate')).not.toContain('Waiting for you');
  });

  it('is a proof or a trusted publisher of a team of the user, and of no other user', async () => {
    const { store, access } = registry.parts;
    const claim = { group: 'proved.example.org', team: 'labels', proof: 'dns', claimedBy: 'Alice' } as const;
    const times = { claimedAt: day(-30), checkedAt: day(-1), missingSince: day(-3) };
    await store.putOwnerClaim({ ...claim, ...times, problem: 'no TXT record found' });
    await access.reload(store);
    const publisher = { provider: 'github', issuer: 'https://token.actions.githubusercontent.com' } as const;
    const of = {
      ...publisher,
      settings: { repository: 'a/b' },
      pins: {},
      createdAt: day(-1),
      createdBy: 'Alice',
    };
    const add = (id: string, group: string, pendingUntil?: string) =>
      store.addTrustedPublisher({
        ...of,
        id,
        group,
        ...(pendingUntil === undefined ? {} : { pendingUntil }),
      });
    await add('00000000-0000-4000-8000-000000000001', 'labels.example.com', day(5));
    await add('00000000-0000-4000-8000-000000000002', 'a.labels.example.com', day(-1));
    await add('00000000-0000-4000-8000-000000000003', 'b.labels.example.com');
    await add('00000000-0000-4000-8000-000000000004', 'others.example.com', day(5));
    const page = await (await user('alice')).text('/operate');
    const section = /<section aria-labelledby="waiting">.*?<\/section>/s.exec(page)?.[0] ?? '';
    for (const text of [
      'proved.example.org',
      'No TXT record found.',
      'Add a TXT record to _krmhub.proved.example.org',
      'krmhub owner verify proved.example.org',
      'Run the workflow before',
      'It ended',
    ])
      expect(section).toContain(text);
    expect(section.match(/<li>/g)).toHaveLength(3);
    expect(section).not.toContain('others.example.com');
    for (const name of ['bob', 'root'])
      expect(await (await user(name)).text('/operate')).not.toContain('Waiting for you');
  });

  it('is for administrators a name that was refused, until somebody publishes there', async () => {
    const open = ACCESS.replace('  grants:', '  openGroups: ["*"]\n  grants:');
    expect(await registry.send('PUT', '/api/v1/access', open)).toMatchObject({ status: 200 });
    const of = (group: string) => ({ group, kind: 'SetLabels', release: '1.0.0' });
    expect(await registry.publish(of('tools.example.com'))).toMatchObject({ status: 201 });
    const group = 'toools.example.com';
    const { secret } = await registry.token({ name: 'mistaken <i>', scopes: ['publish'] });
    const refuse = () =>
      registry.send('PUT', releasePath(of(group)), definitionText(of(group)), `Bearer ${secret}`);
    expect(await refuse()).toMatchObject({ status: 403 });
    expect(await refuse()).toMatchObject({ status: 403 });
    const root = await user('root');
    const page = await root.text('/operate');
    expect(page.match(/<b>toools.example.com<\/b>/g)).toHaveLength(1);
    expect(page).toContain('mistaken &lt;i&gt;');
    expect(page).toContain('looks like the group');
    expect(page).toContain('krmhub publish FILE');
    expect(await (await user('alice')).text('/operate')).not.toContain('Waiting for you');
    expect(await registry.publish(of(group))).toMatchObject({ status: 201 });
    expect(await root.text('/operate')).not.toContain('Waiting for you');
  });
});

describe('sessions', () => {
  it('are listed, and end one by one or all but this one', async () => {
    const [first, second, third] = [await user('alice'), await user('alice'), await user('alice')];
    const other = await user('bob');
    const page = await third.text('/operate');
    expect(page.match(/this one/g)).toHaveLength(1);
    const [newest] = sessionsOn(page);
    expect(sessionsOn(page)).toHaveLength(2);
    expect(page).not.toContain(/krmhub-user=([\w-]+)/.exec(first.cookie)![1]);
    expect((await third.act(newest!)).status).toBe(303);
    expect((await second.get('/operate')).status).toBe(303);
    expect((await first.get('/operate')).status).toBe(200);
    expect((await third.act('/operate/sessions/end')).status).toBe(303);
    expect((await first.get('/operate')).status).toBe(303);
    expect(sessionsOn(await third.text('/operate'))).toEqual([]);
    expect((await other.get('/operate')).status).toBe(200);
  });

  it('of others cannot be ended', async () => {
    const [alice, bob] = [await user('alice'), await user('bob')];
    const { hash } = (await registry.parts.store.sessionsOfUser((await find('alice')).id))[0]!;
    await bob.act(`/operate/sessions/${hash.slice(0, 16)}/end`);
    await bob.act('/operate/sessions/end');
    expect((await alice.get('/operate')).status).toBe(200);
  });

  it('end only by a form of the session', async () => {
    const [first, second] = [await user('alice'), await user('alice')];
    const foreign = await first.formKey();
    expect((await second.post('/operate/sessions/end', { formKey: foreign })).status).toBe(403);
    expect((await second.post('/operate/sessions/end', {})).status).toBe(403);
    expect((await first.get('/operate')).status).toBe(200);
  });
});

describe('the page of users', () => {
  it('is for administrators', async () => {
    const alice = await user('alice');
    expect((await alice.get('/operate/users')).status).toBe(403);
    const { id } = await find('alice');
    for (const action of ['suspend', 'restore', 'sign-out']) {
      expect((await alice.act(`/operate/users/${id}/${action}`)).status).toBe(403);
    }
    const root = await user('root');
    const page = await root.text('/operate/users');
    expect(page).toContain('Alice Example');
    expect(page).toContain(`at <bdi>${idp.issuer}</bdi>`);
    expect(page).toMatch(/Teams: labels; groups: <bdi>platform<\/bdi>/);
  });

  it('suspends a user, with sessions and tokens, and restores', async () => {
    const [root, alice] = [await user('root'), await user('alice')];
    const { secret } = await personalToken('alice', 'laptop');
    const { id } = await find('alice');
    const headers = { Authorization: `Bearer ${secret}` };
    const whoami = async () => (await registry.request('/api/v1/whoami', { headers })).status;
    expect(await whoami()).toBe(200);
    expect((await root.act(`/operate/users/${id}/suspend`)).status).toBe(303);
    expect(await root.text('/operate/users')).toMatch(
      /suspended <time[^>]*>[^<]*<\/time> by <bdi>Root \(root at/,
    );
    expect((await alice.get('/operate')).status).toBe(303);
    expect(await whoami()).toBe(401);
    expect((await root.act(`/operate/users/${id}/restore`)).status).toBe(303);
    expect(await whoami()).toBe(200);
    expect((await (await user('alice')).get('/operate')).status).toBe(200);
    const { rows } = await registry.parts.store.auditRows({ object: `user/${id}` }, { limit: 10 });
    expect(rows.map(({ action }) => action)).toEqual(['user.restore', 'user.suspend']);
  });

  it('signs a user out everywhere, and not oneself', async () => {
    const [root, alice] = [await user('root'), await user('alice')];
    expect((await root.act(`/operate/users/${(await find('alice')).id}/sign-out`)).status).toBe(303);
    expect((await alice.get('/operate')).status).toBe(303);
    const own = (await find('root')).id;
    for (const action of ['suspend', 'sign-out']) {
      expect((await root.act(`/operate/users/${own}/${action}`)).status).toBe(403);
    }
    expect((await root.get('/operate')).status).toBe(200);
    expect((await root.act(`/operate/users/${randomUUID()}/suspend`)).status).toBe(404);
  });

  it('has pages', async () => {
    const root = await user('root');
    for (let index = 0; index < 65; index++) {
      const found = { issuer: idp.issuer, subject: `user-${index}`, name: `User ${index}`, groups: [] };
      await registry.parts.store.confirmUser(found, { at: new Date().toISOString(), isSignIn: false });
    }
    const seen = new Set<string>();
    let next: string | undefined = '/operate/users';
    for (let pages = 0; next !== undefined && pages < 5; pages++) {
      const page: string = await root.text(next);
      for (const [, id] of page.matchAll(/<li id="([0-9a-f-]{36})">/g)) seen.add(id!);
      next = /href="(\/operate\/users\?after=[^"]+)"/.exec(page)?.[1];
    }
    expect(seen.size).toBe(66);
    const found = await root.text('/operate/users?q=USER+64');
    expect([...found.matchAll(/<li id="([0-9a-f-]{36})">/g)]).toHaveLength(1);
    expect(await root.text('/operate/users?q=nobody')).toContain('No name or e-mail has this text');
  });
});
