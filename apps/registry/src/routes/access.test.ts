import type { AccessDecision, AccessDetail, AccessResult, Identity, Problem } from '@krmhub/api/model';
import { sha256 } from '@krmhub/schema';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { teamBearer } from '../testing/access.js';
import { openTestRegistry, type TestRegistry } from '../testing/test-registry.js';
import { userSignedIn } from '../testing/user-session.js';

let registry: TestRegistry;
beforeEach(async () => {
  registry = await openTestRegistry();
});
afterEach(() => registry.close());

const document = (spec: string) => `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec: ${spec}
`;
const OWNED = document(`
  teams: [{name: red}, {name: green}]
  groups: [{pattern: "*.example.com", owner: red, visibility: internal}]
  catalogs: [{pattern: in-house, visibility: internal}]
  grants: [{to: {team: green}, may: [yank], in: {group: a.example.com}}]`);

const apply = (text: string, query = '') =>
  registry.send<AccessResult & Partial<Problem>>('PUT', `/api/v1/access${query}`, text);
const show = async () => (await registry.send<AccessDetail>('GET', '/api/v1/access')).body;
const check = async (actor: string, action: string, object: string) =>
  registry.send<AccessDecision & Partial<Problem>>('POST', '/api/v1/access/check', { actor, action, object });

describe('the Access document', () => {
  it('is replaced, and counts at once', async () => {
    const ci = await registry.token({ name: 'ci', scopes: ['publish'], groups: ['*'] });
    await registry.publish({ group: 'a.example.com', kind: 'SetLabels', release: '1.0.0' });
    const read = async () =>
      (await registry.request('/api/v1/functions/a.example.com/SetLabels/releases/1.0.0')).status;
    const listed = async () =>
      (await (await registry.request('/catalogs/default/catalog.yaml')).text()).includes('a.example.com');
    await registry.waitForCatalogs();
    expect([await read(), await listed()]).toEqual([200, true]);
    const { status, body } = await apply(OWNED);
    expect(await listed()).toBe(false);
    expect([status, body.outcome, body.dryRun]).toEqual([200, 'changed', false]);
    expect(body.changes).toContainEqual({
      change: 'loses',
      actions: ['publish'],
      actors: [{ is: 'token', name: 'ci', id: ci.id }],
      actorCount: 1,
      objects: ['a.example.com', '*.example.com'],
      objectCount: 2,
      newOwner: 'red',
    });
    expect(await read()).toBe(404);
    const stored = await show();
    expect(stored).toMatchObject({ text: OWNED, appliedBy: 'tester' });
    expect(stored.revision).toBeGreaterThan(0);
    const { body: events } = await registry.send<{ events: { type: string; by: string }[] }>(
      'GET',
      '/api/v1/events',
    );
    expect(events.events).toContainEqual(expect.objectContaining({ type: 'access.applied', by: 'tester' }));
    expect((await apply(OWNED)).body).toMatchObject({ outcome: 'unchanged', changes: [], count: 0 });
  });

  it('is only compared in a dry run', async () => {
    const before = await show();
    const { body } = await apply(OWNED, '?dryRun=true');
    expect(body).toMatchObject({ outcome: 'changed', dryRun: true });
    expect(body.count).toBeGreaterThan(0);
    expect(await show()).toEqual(before);
    expect(registry.parts.access.rules.hidesAnything).toBe(false);
  });

  it('names the snapshots that still contain what it hides from their readers', async () => {
    for (const group of ['open.test', 'inside.test', 'secret.test']) {
      await registry.publish({ group, kind: 'SetLabels', release: '1.0.0' });
    }
    const recipe = (name: string) =>
      `apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata: {name: ${name}}\nspec:\n  sources: [{name: ours, functions: {}}]\n`;
    await registry.send('PUT', '/api/v1/catalogs/inner', recipe('inner'));
    await registry.waitForCatalogs();
    const hidden = document(`
      groups: [{pattern: inside.test, visibility: internal}, {pattern: secret.test, visibility: private}]
      catalogs: [{pattern: inner, visibility: internal}]`);
    const named = async (text: string, query = '') => {
      const { exposed, exposedCount } = (await apply(text, query)).body;
      expect(exposed.length).toBe(exposedCount);
      return exposed.map(({ catalog, group, kind, from, to }) => `${catalog} ${from}-${to} ${group}/${kind}`);
    };
    const expected = [
      'default 3-4 inside.test/SetLabels',
      'default 4-4 secret.test/SetLabels',
      'inner 1-1 secret.test/SetLabels',
    ];
    expect(await named(hidden, '?dryRun=true')).toEqual(expected);
    expect(await named(hidden)).toEqual(expected);
    await registry.waitForCatalogs();
    // Only what this change hides. A catalog that more actors may read shows what it contained before.
    expect(
      await named(hidden.replace('catalogs: [', 'catalogs: [{pattern: other, visibility: private}, ')),
    ).toEqual([]);
    expect(
      await named(hidden.replace('pattern: inner, visibility: internal', 'pattern: a, visibility: internal')),
    ).toEqual(['inner 1-2 inside.test/SetLabels']);
  });

  it('names what a deleted catalog shows to more readers after it is restored', async () => {
    const rules = `
      groups: [{pattern: secret.test, visibility: private}]`;
    await apply(
      document(`${rules}
      catalogs: [{pattern: kept, visibility: private}]`),
    );
    await registry.publish({ group: 'secret.test', kind: 'SetLabels', release: '1.0.0' });
    const recipe =
      'apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata: {name: kept}\nspec: {sources: [{name: ours, functions: {}}]}\n';
    await registry.send('PUT', '/api/v1/catalogs/kept', recipe);
    await registry.waitForCatalogs();
    await registry.send('POST', '/api/v1/catalogs/kept/delete', { reason: 'for a day' });
    const { exposed } = (await apply(document(rules))).body;
    expect(exposed.map(({ catalog, group }) => `${catalog} ${group}`)).toEqual(['kept secret.test']);
  });

  it('ends what belongs to a team that it removes, so that a later team of this name has none of it', async () => {
    const { store, access } = registry.parts;
    const at = new Date().toISOString();
    await apply(OWNED);
    const bearer = await teamBearer(registry, 'red');
    const other = await teamBearer(registry, 'green');
    const status = async (authorization: string) =>
      (await registry.request('/api/v1/whoami', { headers: { Authorization: authorization } })).status;
    const publisher = { id: 'p1', group: 'a.example.com', provider: 'github', issuer: 'https://issuer.test' };
    await store.addTrustedPublisher({
      ...{ ...publisher, provider: 'github', settings: {}, pins: {} },
      ...{ team: 'red', createdAt: at, createdBy: 'tester' },
    });
    const claim = { group: 'b.test', team: 'red', proof: 'dns', claimedBy: 'tester' } as const;
    await store.putOwnerClaim({ ...claim, claimedAt: at, checkedAt: at });
    const without = OWNED.replace('{name: red}, ', '').replace(/owner: red, /, '');
    const planned = (await apply(without, '?dryRun=true')).body;
    const named = planned.ended.map(({ is, name, team }) => [is, name, team]);
    const expected = [
      ['token', 'token of red', 'red'],
      ['trusted-publisher', 'a.example.com', 'red'],
      ['claim', 'b.test', 'red'],
    ];
    expect([named, planned.endedCount]).toEqual([expected, 3]);
    expect([await status(bearer), await status(other)]).toEqual([200, 200]);
    // As by a process that knows an older document.
    await access.reload({ access: async () => undefined, ownerClaims: async () => [] });
    expect((await apply(without)).body.ended).toEqual(planned.ended);
    expect([await status(bearer), await status(other)]).toEqual([401, 200]);
    const late = await teamBearer(registry, 'red');
    const again = (await apply(OWNED)).body;
    expect(again.ended.map(({ is, team }) => [is, team])).toEqual([['token', 'red']]);
    // It does not get what is revoked at the same time.
    const gains = again.changes.flatMap(({ actors }) => actors.map(({ name }) => name));
    expect(gains).not.toContain('token of red');
    expect([await status(bearer), await status(late), await status(other)]).toEqual([401, 401, 200]);
    expect([await store.trustedPublishers(), await store.ownerClaims()]).toEqual([[], []]);
    expect(access.rules.ownerOf('b.test')).toBeUndefined();
    const fresh = await teamBearer(registry, 'red');
    expect((await apply(`# A comment.\n${OWNED}`)).body.endedCount).toBe(0);
    expect(await status(fresh)).toBe(200);
  });

  it('is not replaced by an author who saw another one', async () => {
    const before = await show();
    await apply(OWNED);
    const other = document('{teams: [{name: blue}]}');
    const { status, body } = await apply(other, `?replaces=${sha256(before.text)}`);
    expect([status, body.code]).toEqual([409, 'conflict']);
    expect((await show()).text).toBe(OWNED);
    expect((await apply(other, `?replaces=${sha256(OWNED)}`)).status).toBe(200);
  });

  it('is not replaced if it changes while it is being compared', async () => {
    await registry.close();
    let isRaced = false;
    registry = await openTestRegistry({
      wrapStore: (store) => ({
        ...store,
        async applyAccess(change) {
          // As another process, between the read and the write.
          if (isRaced) await store.applyAccess({ ...change, text: OWNED });
          isRaced = false;
          return store.applyAccess(change);
        },
      }),
    });
    isRaced = true;
    const { status, body } = await apply(document('{}'));
    expect([status, body.code]).toEqual([503, 'unavailable']);
    expect((await show()).text).toBe(OWNED);
  });

  it('is refused with every problem, and nothing changes', async () => {
    const before = await show();
    const { status, body } = await apply(document('{teams: [{name: A_}], groups: [{pattern: a, owner: b}]}'));
    expect(status).toBe(422);
    expect(body.diagnostics?.map(({ code }) => code)).toEqual(['access/name', 'access/unknown-team']);
    expect(await show()).toEqual(before);
  });
});

describe('a new group in a closed registry', () => {
  it('is refused with the ways out, and each of them works', async () => {
    await apply(document('{}'));
    const publish = async ({ secret }: { secret: string }) => {
      const bearer = `Bearer ${secret}`;
      const target = '/api/v1/functions/new.test/SetLabels/releases/1.0.0?dryRun=true';
      return registry.send('PUT', target, 'kind: x', bearer);
    };
    const wide = await registry.token({ name: 'wide', scopes: ['publish'], groups: ['*'] });
    const { status, body } = await publish(wide);
    expect([status, body.detail, body.hint]).toMatchSnapshot();
    // The document is wrong, so the request was allowed.
    const named = await registry.token({ name: 'named', scopes: ['publish'], groups: ['new.test'] });
    expect((await publish(named)).status).toBe(422);
    await apply(document('{openGroups: [new.test]}'));
    expect((await publish(wide)).status).toBe(422);
    const other = await registry.token({ name: 'other', scopes: ['publish'], groups: ['other.test'] });
    expect((await publish(other)).body.hint).toContain('The token has publish for other.test.');
  });
});

describe('a read with a token that was revoked', () => {
  it('says why it finds less than before, and the same of what does not exist', async () => {
    await registry.publish({ group: 'a.example.com', kind: 'SetLabels', release: '1.0.0' });
    await apply(OWNED);
    const { id, secret } = await registry.token({ name: 'leaver', scopes: ['read'] });
    const read = async (kind: string) => {
      const headers = { Authorization: `Bearer ${secret}` };
      const response = await registry.request(`/api/v1/functions/a.example.com/${kind}`, { headers });
      const { detail = '', hint } = (await response.json()) as Partial<Problem>;
      return [response.status, detail.replace(kind, 'KIND'), hint];
    };
    expect((await read('SetLabels'))[0]).toBe(200);
    const absent = await read('Absent');
    await registry.parts.store.revokeToken(id, new Date().toISOString());
    expect(await read('SetLabels')).toEqual([
      404,
      absent[1],
      `Only what is public was read, because the token "leaver" is revoked. ${absent[2]}`,
    ]);
    expect(await read('Absent')).toEqual(await read('SetLabels'));
  });
});

describe('a check of access', () => {
  it('gives the decision and what gives it', async () => {
    await apply(OWNED);
    const { id } = await registry.token({ name: 'ci', scopes: ['publish'], groups: ['*'] });
    await registry.token({ name: 'gone', scopes: ['publish'] });
    const gone = (await registry.parts.store.tokens()).find(({ name }) => name === 'gone')!;
    await registry.parts.store.revokeToken(gone.id, new Date().toISOString());
    const said = async (...wanted: [string, string, string]) => {
      const { body } = await check(...wanted);
      return [body.allowed, body.reason ?? body.detail];
    };
    expect([
      await said('anonymous', 'read', 'a.example.com/SetLabels'),
      await said('internal', 'read', 'a.example.com/SetLabels'),
      await said('anonymous', 'read', 'repository:functions/a.example.com/setlabels'),
      await said('ci', 'publish', 'a.example.com'),
      await said(id, 'publish', 'new.test'),
      await said('team:red', 'own', 'a.example.com'),
      await said('team:green', 'yank', 'a.example.com'),
      await said('team:greem', 'yank', 'a.example.com'),
      await said('gone', 'publish', 'other.test'),
      await said('anonymous', 'read', 'catalog:in-house'),
      await said('ci', 'admin', 'registry'),
      await said('nobody', 'read', 'example.com'),
      await said('ci', 'read', 'example.com/a/b'),
    ]).toMatchSnapshot();
  });

  it.each([
    ['red', 'Did you mean team:red? '],
    ['gren', 'Did you mean team:green? '],
    ['Anonymous', 'Did you mean anonymous? '],
    ['deploi', 'Did you mean deploy? '],
    ['greedy', 'Did you mean greed? '],
    ['somebody-else', ''],
  ])('names the actor that may be meant by %s', async (actor, near) => {
    await apply(OWNED);
    for (const name of ['deploy', 'greed']) await registry.token({ name });
    const { status, body } = await check(actor, 'read', 'example.com');
    expect([status, body.detail]).toEqual([404, `token "${actor}" not found`]);
    expect(body.hint).toBe(
      `${near}List the tokens: krmhub token list. Other actors: anonymous, internal, team:NAME, user:ID.`,
    );
  });

  it('asks which of two tokens with a name is meant', async () => {
    const first = await registry.token({ name: 'ci' });
    const second = await registry.token({ name: 'ci' });
    const { status, body } = await check('ci', 'read', 'example.com');
    expect(status).toBe(400);
    for (const { id } of [first, second]) {
      expect(body.hint).toContain(id);
      expect((await check(id, 'read', 'example.com')).body).toMatchObject({ allowed: true, token: id });
    }
  });
});

describe('a user whose groups nobody has confirmed for long', () => {
  const TEAM = document(`
  teams: [{name: red, members: [{ssoGroup: ops}]}]
  groups: [{pattern: "*.example.com", owner: red}]`);
  const groupsOf = ({ changes }: AccessResult) =>
    changes.flatMap(({ actors }) => actors.filter(({ is }) => is === 'user').map(({ name }) => name));

  it('has none in a check, which says why, and is in a comparison: they count again after a sign-in', async () => {
    await apply(document('teams: [{name: red}]'));
    const { user: ada } = await userSignedIn(registry, { name: 'Ada', groups: ['ops'] });
    expect(groupsOf((await apply(TEAM, '?dryRun=true')).body)).toContain('Ada');
    registry.advance(31 * 86_400_000);
    expect(groupsOf((await apply(TEAM, '?dryRun=true')).body)).toContain('Ada');
    const { user: eve } = await userSignedIn(registry, { name: 'Eve', groups: ['ops'] });
    await apply(TEAM);
    const asked = async ({ id }: { id: string }) =>
      (await check(`user:${id}`, 'publish', 'a.example.com')).body;
    expect(await asked(eve)).toMatchObject({ allowed: true, teams: ['red'] });
    const reason = `the user was last confirmed at ${ada.confirmedAt}: the groups count again after a sign-in`;
    expect(await asked(ada)).toMatchObject({ allowed: false, teams: [], reason });
    const at = registry.parts.clock().toISOString();
    await registry.parts.store.confirmUser(ada, { at, isSignIn: true });
    expect(await asked(ada)).toMatchObject({ allowed: true, teams: ['red'] });
    registry.advance(31 * 86_400_000);
    const act = { at: registry.parts.clock().toISOString(), by: 'admin' };
    await registry.parts.store.suspendUser(ada.id, true, act);
    expect(await asked(ada)).toMatchObject({ allowed: false, reason: 'the user is suspended' });
  });
});

describe('a token of a team', () => {
  it('shows what it may do, and not what else its team may', async () => {
    await apply(OWNED);
    const rights = async (team: string, limits: object) => {
      const { secret } = await registry.token({ name: team, scopes: ['read'], team, ...limits });
      const me = await registry.send<Identity>('GET', '/api/v1/whoami', undefined, `Bearer ${secret}`);
      return me.body.teamRights;
    };
    expect(await rights('red', { groups: ['b.example.com', 'c.test'] })).toEqual({
      ...{ owns: ['b.example.com'], grants: [] },
    });
    const inA = (may: string) => ({ owns: [], grants: [{ may: [may], in: { group: 'a.example.com' } }] });
    expect(await rights('green', { groups: ['*'], scopes: ['yank'] })).toEqual(inA('yank'));
    expect(await rights('green', { groups: ['a.*'] })).toEqual(inA('read'));
    expect(await rights('green', { groups: ['b.*'] })).toEqual({ owns: [], grants: [] });
  });

  const create = (wanted: object) =>
    registry.send<{ token: string; id: string } & Partial<Problem>>('POST', '/api/v1/tokens', wanted);

  it('has the rights of its team, and shows them', async () => {
    await apply(OWNED);
    const { status, body } = await create({ name: 'red-ci', scopes: ['publish'], team: 'red' });
    expect(status).toBe(201);
    expect(body).toMatchObject({ team: 'red', groups: ['*'] });
    const bearer = `Bearer ${body.token}`;
    const me = (await registry.send('GET', '/api/v1/whoami', undefined, bearer)).body;
    expect(me).toMatchObject({ team: 'red', teamRights: { owns: ['*.example.com'], grants: [] } });
    const publish = async (group: string) =>
      (
        await registry.send(
          'PUT',
          `/api/v1/functions/${group}/SetLabels/releases/1.0.0?dryRun=true`,
          'x',
          bearer,
        )
      ).status;
    expect(await publish('a.example.com')).toBe(422);
    expect(await publish('a.test')).toBe(403);
  });

  it('is refused for an unknown team, or where the team has no effect', async () => {
    await apply(OWNED);
    const refused = async (wanted: object) => {
      const { status, body } = await create({ name: 'x', ...wanted });
      return [status, body.detail, body.hint];
    };
    expect([
      await refused({ scopes: ['publish'], team: 'gren' }),
      await refused({ scopes: ['publish'], team: 'unknown-team' }),
      await refused({ scopes: ['publish', 'admin'], team: 'red' }),
      await refused({ scopes: ['publish'], repositories: ['team/*'] }),
      await refused({ scopes: ['push'], groups: ['example.com'] }),
      await refused({ scopes: ['read'], repositories: ['functions/example.com/x'] }),
    ]).toMatchSnapshot();
  });
});
