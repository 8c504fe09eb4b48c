import type { CreatedToken, Token, TokenList } from '@krmhub/api/model';
import { isLimitedBy } from '@krmhub/api/token-scopes';
import { type AccessObject, can, type TokenRecord, tokenActor } from '@krmhub/catalog';
import {
  GROUPS,
  ISSUER,
  randomRules,
  randomToken,
  SSO_GROUPS,
} from '@krmhub/catalog/access/testing/random-access';
import { Random } from '@krmhub/yaml/testing/random';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SERVER_LIMITS } from '../../limits.js';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';
import { userSignedIn } from '../../testing/user-session.js';
import { issueToken } from './issue-token.js';
import { createToken, hashSecret, newSecret } from './tokens.js';

const DAY = 86_400_000;
const OBJECTS: AccessObject[] = [
  ...GROUPS.map((group) => ({ group })),
  ...['default', 'in-house'].map((catalog) => ({ catalog })),
  ...['team/base', 'other'].map((repository) => ({ repository })),
];
const ACCESS = `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  teams:
  - {name: admins, members: [{ssoGroup: admins}]}
  - {name: labels, members: [{ssoGroup: labels}]}
  groups: [{pattern: example.com, owner: labels}]
  grants: [{to: {team: admins}, may: [admin], in: {group: "*"}}]
`;

let registry: TestRegistry;
beforeAll(async () => {
  registry = await openTestRegistry();
  expect(await registry.send('PUT', '/api/v1/access', ACCESS)).toMatchObject({ status: 200 });
});
afterAll(() => registry.close());

const NEW = '/operate/tokens/new';
const FORM = { name: 'made', scopes: 'publish', groups: '*', repositories: '*', expiresInDays: '30' };
type Answer<Body> = Partial<Body> & { detail?: string };

const call = <Body>(secret: string, method: string, target: string, body?: object) =>
  registry.send<Answer<Body>>(method, target, body, `Bearer ${secret}`);
const create = (secret: string, wanted: object) =>
  call<CreatedToken>(secret, 'POST', '/api/v1/tokens', { name: 'made', scopes: ['publish'], ...wanted });
const named = async (secret: string) =>
  ((await call<TokenList>(secret, 'GET', '/api/v1/tokens')).body.tokens ?? []).map(({ name }) => name);

/** Returns a user with a personal token, as device login makes it. */
async function user(groups: string[], more: Partial<Token> & { days?: number } = {}) {
  const browser = await userSignedIn(registry, { name: 'Ada', groups });
  const { days = 30, ...limits } = more;
  const secret = newSecret();
  const now = registry.parts.clock();
  const scopes = ['read', 'publish', 'yank', 'push', ...(groups.includes('admins') ? ['admin'] : [])];
  const token = {
    ...{ id: `${browser.user.id}-token`, name: 'laptop', scopes, groups: ['*'], repositories: ['*'] },
    ...{ createdAt: now.toISOString(), createdBy: 'Ada', user: browser.user },
    ...{ expiresAt: new Date(now.getTime() + days * DAY).toISOString() },
    ...limits,
  };
  await registry.parts.store.createToken({ ...token, user: browser.user } as never, hashSecret(secret));
  return { browser, secret, id: token.id, user: browser.user };
}

describe('a token that a user creates', () => {
  it('is personal, bounded by the rights of the user when it is used', async () => {
    const { secret, user: ada } = await user(['labels']);
    const { status, body } = await create(secret, { scopes: ['publish', 'yank'], groups: ['example.com'] });
    expect([status, body.user?.id, body.groups]).toEqual([201, ada.id, ['example.com']]);
    const checked = async () =>
      (
        await call(body.token!, 'POST', '/api/v1/functions/example.com/None/releases/1.0.0/yank', {
          reason: 'x',
        })
      ).status;
    expect(await checked()).toBe(404);
    const moved = { ...ada, groups: [] };
    await registry.parts.store.confirmUser(moved, {
      at: registry.parts.clock().toISOString(),
      isSignIn: true,
    });
    expect(await checked()).toBe(403);
  });

  it('is told apart from its user, who has a scope that it lacks', async () => {
    const users = async (secret: string) =>
      (await call<{ hint: string }>(secret, 'GET', '/api/v1/users')).body.hint;
    const administrator = await user(['admins'], { scopes: ['read'] });
    expect(await users(administrator.secret)).toContain('You have the right, but this token has only read.');
    expect(await users((await user(['labels'])).secret)).toContain('The user is in labels.');
  });

  it.each([
    ['a scope that the user does not have', { scopes: ['admin'] }, {}, 'does not have the scope admin'],
    ['a scope that the token does not have', { scopes: ['yank'] }, { scopes: ['read'] }, 'the scope yank'],
    ['more groups', { groups: ['*'] }, { groups: ['a.example.com'] }, 'is for the groups a.example.com'],
    ['other groups', { groups: ['b.example.com'] }, { groups: ['a.*'] }, 'not for b.example.com'],
    ['another wildcard', { groups: ['a.*.com'] }, { groups: ['a.*'] }, 'not for a.*.com'],
    ['a longer life', { expiresInDays: 60 }, { days: 10 }, 'cannot make one that expires later'],
  ])('cannot have %s', async (_, wanted, limits, problem) => {
    const { secret } = await user(['labels'], limits as object);
    const { status, body } = await create(secret, wanted);
    expect([status, body.detail]).toEqual([400, expect.stringContaining(problem)]);
  });

  it('never has more than the token that made it, and ends with it at the latest', async () => {
    const random = new Random(3);
    const scopes = ['read', 'publish', 'yank', 'push'];
    const groups = ['*', 'a.*', 'a.example.com', 'b.example.com', '*.example.com'];
    const covers = (own: string, wanted: string) =>
      own === '*' ||
      own === wanted ||
      (!wanted.includes('*') &&
        new RegExp(`^${own.replaceAll('.', '\\.').replaceAll('*', '.*')}$`).test(wanted));
    let made = 0;
    for (let round = 0; round < 40; round++) {
      const limits = {
        scopes: random.some(scopes, 0.7) as Token['scopes'],
        groups: random.some(groups, 0.4),
        days: 1 + random.below(60),
      };
      if (limits.scopes.length === 0 || limits.groups.length === 0) continue;
      const { secret, id } = await user(['labels'], limits);
      const wanted = {
        scopes: random.some(scopes, 0.4).concat('read'),
        groups: [random.pick(groups)],
        ...(random.chance(0.5) ? { expiresInDays: 1 + random.below(90) } : {}),
      };
      const { status, body } = await create(secret, wanted);
      const mayHave =
        wanted.scopes.every((scope) => (limits.scopes as string[]).includes(scope)) &&
        wanted.groups.every((one) => limits.groups.some((own) => covers(own, one))) &&
        (wanted.expiresInDays ?? 0) <= limits.days + 1;
      expect([wanted, limits, status]).toEqual([wanted, limits, mayHave ? 201 : 400]);
      if (!mayHave) continue;
      made += 1;
      const parent = (await registry.parts.store.tokens()).find((token) => token.id === id)!;
      expect(body.expiresAt! <= parent.expiresAt!).toBe(true);
    }
    expect(made).toBeGreaterThan(3);
  });

  it('may nothing that the token may not that made it, whatever the rules are', async () => {
    const random = new Random(5);
    const { store, clock, signIns } = registry.parts;
    let made = 0;
    for (let round = 0; round < 600; round++) {
      const { user: known } = await userSignedIn(registry);
      const rules = randomRules(random);
      const user = { ...known, issuer: ISSUER, subject: 's0', groups: random.some(SSO_GROUPS, 0.7) };
      const times = { createdAt: clock().toISOString(), createdBy: 'Ada' };
      const { scopes: own, groups, repositories } = randomToken(random, 1);
      const limits = { scopes: [...own], groups: [...groups], repositories: [...repositories] };
      const by: TokenRecord = { id: 'by', name: 'by', ...limits, user, ...times };
      const scopes = random.some(['read', 'publish', 'yank', 'push'] as const, 0.4);
      const limit = (field: 'groups' | 'repositories') =>
        isLimitedBy(scopes, field) ? random.some([...by[field], 'catalogs/in-house'], 0.7) : ['*'];
      const wanted = { name: 'made', scopes, groups: limit('groups'), repositories: limit('repositories') };
      const deps = {
        store,
        signIns,
        access: { rules, decide: () => expect.unreachable() },
        clock,
        config: {},
      };
      const given = { by: 'Ada', origin: {}, signIn: undefined };
      const issued = await issueToken(deps, wanted as never, by, given).catch((error) => error);
      if (!('token' in issued)) {
        expect(issued).toMatchObject({ code: 'invalid-request' });
        continue;
      }
      made += 1;
      const [parent, child] = [tokenActor(rules, by), tokenActor(rules, { ...issued.token, user })];
      for (const action of ['read', 'publish', 'yank', 'push', 'own'] as const) {
        for (const object of OBJECTS) {
          if (!can(rules, child, action, object).allowed) continue;
          expect([wanted, limits, action, object, can(rules, parent, action, object)]).toEqual([
            ...[wanted, limits, action, object],
            expect.objectContaining({ allowed: true }),
          ]);
        }
      }
    }
    expect(made).toBeGreaterThan(50);
  });

  it('is one of a limited number, and counts as a write of the user, whichever token made it', async () => {
    const { secret, id, user: ada } = await user([]);
    const ids: string[] = [];
    for (let count = 1; count < SERVER_LIMITS.maxTokensOfUser; count++)
      ids.push((await create(secret, {})).body.id!);
    const refused = await create(secret, {});
    expect([refused.status, refused.body.detail]).toEqual([409, expect.stringContaining('the limit')]);
    expect((await create((await user([])).secret, {})).status).toBe(201);
    for (const one of ids) await registry.parts.store.revokeToken(one, registry.parts.clock().toISOString());
    for (let count = 0; count < 3; count++) ids.push((await create(secret, {})).body.id!);
    for (const one of ids.slice(-3))
      await registry.parts.store.revokeToken(one, registry.parts.clock().toISOString());
    expect((await create(secret, {})).status).toBe(201);
    const kept = await registry.parts.store.tokensOfUser(ada.id);
    expect(kept).toHaveLength(2 + SERVER_LIMITS.maxTokensOfUser);
    expect(kept.map((token) => token.id)).toContain(id);

    const own = await openTestRegistry({ config: { writesPerMinute: 3 } });
    try {
      const browser = await userSignedIn(own);
      const statuses: number[] = [];
      for (let count = 0; count < 4; count++) {
        const context = { now: own.parts.clock(), by: 'Ada' };
        const limits = { scopes: ['publish' as const], groups: ['*'], repositories: ['*'] };
        const made = await createToken(
          own.parts.store,
          { name: 'a', ...limits, user: browser.user },
          context,
        );
        const body = { name: 'b', scopes: ['publish'] };
        const given = ['POST', '/api/v1/tokens', body, `Bearer ${made.secret}`] as const;
        statuses.push((await own.send(...given)).status);
      }
      expect(statuses).toEqual([201, 201, 201, 429]);
    } finally {
      await own.close();
    }
  });

  it('is one of a program only if an administrator asks for it', async () => {
    const root = await user(['admins']);
    expect((await create(root.secret, { scopes: ['admin'] })).body.user?.id).toBe(root.user.id);
    for (const wanted of [{ robot: true }, { team: 'labels' }]) {
      const { status, body } = await create(root.secret, wanted);
      expect([status, body.user, body.team]).toEqual([
        201,
        undefined,
        'team' in wanted ? 'labels' : undefined,
      ]);
      expect((await create((await user(['labels'])).secret, wanted)).status).toBe(403);
    }
    const { secret: robot } = await registry.token({ scopes: ['publish'] });
    expect((await create(robot, {})).status).toBe(403);
    const { secret: first } = await registry.token({ scopes: ['admin'] });
    expect((await create(first, {})).body.user).toBeUndefined();
  });

  it('is listed and revoked by its user and administrators, and nobody else', async () => {
    const [ada, bob, root] = [await user(['labels']), await user([]), await user(['admins'])];
    const { body } = await create(ada.secret, { name: 'of ada' });
    expect(await named(ada.secret)).toEqual(['laptop', 'of ada']);
    expect(await named(bob.secret)).toEqual(['laptop']);
    expect(await named(root.secret)).toEqual(expect.arrayContaining(['of ada', 'tester']));
    const revoke = async (secret: string, id: string) =>
      (await call(secret, 'DELETE', `/api/v1/tokens/${id}`)).status;
    // A token of another user is answered as one that does not exist.
    for (const id of [body.id!, root.id, '00000000-0000-4000-8000-000000000000']) {
      expect(await revoke(bob.secret, id)).toBe(403);
    }
    expect(await revoke(ada.secret, body.id!)).toBe(200);
    expect((await call(body.token!, 'GET', '/api/v1/whoami')).status).toBe(401);
    const other = await create(ada.secret, {});
    expect(await revoke(root.secret, other.body.id!)).toBe(200);
    const limited = await create(ada.secret, {
      scopes: ['read'],
      groups: ['a.example.com'],
      repositories: ['a'],
    });
    expect(await revoke(limited.body.token!, ada.id)).toBe(403);
    expect(await revoke(limited.body.token!, limited.body.id!)).toBe(200);
    const { secret: publisher } = await registry.token({ scopes: ['publish'] });
    expect((await call(publisher, 'GET', '/api/v1/tokens')).status).toBe(403);
  });

  it('adds nothing to a comparison of Access documents: it is never more than its user', async () => {
    const { secret } = await user(['labels'], { name: 'of Ada' });
    const { status } = await create(secret, { groups: ['*.chosen.example.com'], name: 'another of Ada' });
    expect(status).toBe(201);
    await registry.token({ name: 'ci', groups: ['*.given.example.com'] });
    const closed = ACCESS.replace('groups: [{', 'groups: [{pattern: "*", visibility: private}, {');
    const compared = await registry.send('PUT', '/api/v1/access?dryRun=true', closed);
    expect(compared.status).toBe(200);
    const text = JSON.stringify(compared.body);
    expect(text).toContain('*.given.example.com');
    for (const own of ['of Ada', 'chosen']) expect(text).not.toContain(own);
  });

  it('is refused while the user is suspended, and after 30 days without a sign-in', async () => {
    const own = await openTestRegistry();
    try {
      const browser = await userSignedIn(own);
      await browser.act(NEW, { ...FORM, expiresInDays: '90' });
      const [made] = await own.parts.store.tokensOfUser(browser.user.id);
      const page = await browser.text(`/operate/tokens/${made!.id}/created`);
      const secret = /krmhub_[0-9a-f]{72}/.exec(page)![0];
      const whoami = async () =>
        (await own.send('GET', '/api/v1/whoami', undefined, `Bearer ${secret}`)).status;
      const at = own.parts.clock().toISOString();
      expect(await whoami()).toBe(200);
      await own.parts.store.suspendUser(browser.user.id, true, { at, by: 'admin' });
      expect(await whoami()).toBe(401);
      await own.parts.store.suspendUser(browser.user.id, false, { at, by: 'admin' });
      expect(await whoami()).toBe(200);
      own.advance(31 * DAY);
      expect(await whoami()).toBe(401);
    } finally {
      await own.close();
    }
  });
});

describe('the page of a new token', () => {
  it('offers a user the scopes that the user has, and makes a personal token', async () => {
    const { browser, user: ada } = await user(['labels']);
    const page = await browser.text(NEW);
    const offered = [...page.matchAll(/name="scopes" value="(\w+)"/g)].map(([, scope]) => scope);
    expect(offered).toEqual(['read', 'publish', 'yank', 'push']);
    for (const hidden of ['name="robot"', 'name="team"']) expect(page).not.toContain(hidden);
    expect((await browser.act(NEW, FORM)).status).toBe(303);
    const tokens = await registry.parts.store.tokensOfUser(ada.id);
    expect(tokens.map(({ name }) => name)).toEqual(['laptop', 'made']);
    expect(await browser.text('/operate/tokens')).toContain('at most what <bdi>Ada</bdi> may do');
  });

  it('takes no other token from a user, whatever the form says', async () => {
    const { browser, user: ada } = await user(['labels']);
    const forged = [{ robot: 'on' }, { team: 'labels' }, { scopes: 'admin' }];
    const statuses = [];
    for (const more of forged) statuses.push((await browser.act(NEW, { ...FORM, ...more })).status);
    expect(statuses).toEqual([403, 403, 400]);
    expect(await registry.parts.store.tokensOfUser(ada.id)).toHaveLength(1);
  });

  it('lets an administrator choose whose token it is', async () => {
    const { browser, user: root } = await user(['admins']);
    expect(await browser.text(NEW)).toContain('name="robot"');
    await browser.act(NEW, { ...FORM, name: 'mine' });
    await browser.act(NEW, { ...FORM, name: 'of a program', robot: 'on' });
    const own = (await registry.parts.store.tokensOfUser(root.id)).map(({ name }) => name);
    expect(own).toEqual(['laptop', 'mine']);
    const all = await registry.parts.store.tokens();
    expect(all.find(({ name }) => name === 'of a program')?.user).toBeUndefined();
  });
});
