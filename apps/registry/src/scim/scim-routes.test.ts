import type { JsonObject } from '@krmhub/schema';
import { Random } from '@krmhub/yaml/testing/random';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashSecret, newSecret } from '../http/auth/tokens.js';
import { SERVER_LIMITS } from '../limits.js';
import { ScimClient } from '../testing/scim-client.js';
import { openTestRegistry } from '../testing/test-registry.js';
import { SCIM_ROUTES } from './scim-routes.js';

let directory: ScimClient;
beforeAll(async () => {
  directory = await ScimClient.open();
});
afterAll(() => directory.registry.close());

const ERROR = 'urn:ietf:params:scim:api:messages:2.0:Error';
const DAY = 86_400_000;

/** Gives a user a personal token. Returns its `Authorization` header. */
async function personalToken(subject: string): Promise<string> {
  const { store, clock } = directory.registry.parts;
  const user = (await directory.user(subject))!;
  const secret = newSecret();
  const limits = { scopes: ['read', 'publish'], groups: ['*'], repositories: ['*'] };
  const createdAt = clock().toISOString();
  await store.createToken(
    { id: secret.slice(8, 24), name: 'own', ...limits, createdAt, createdBy: subject, user },
    hashSecret(secret),
  );
  return `Bearer ${secret}`;
}

const whoami = async (authorization: string) =>
  (await directory.registry.send<JsonObject>('GET', '/api/v1/whoami', undefined, authorization)).body;

describe('SCIM', () => {
  it('describes itself', async () => {
    const { body: config } = await directory.send('GET', '/ServiceProviderConfig');
    expect(config).toMatchObject({ patch: { supported: true }, bulk: { supported: false } });
    for (const [list, names] of [
      ['ResourceTypes', ['User', 'Group']],
      [
        'Schemas',
        ['urn:ietf:params:scim:schemas:core:2.0:User', 'urn:ietf:params:scim:schemas:core:2.0:Group'],
      ],
    ] as const) {
      const { body } = await directory.send('GET', `/${list}`);
      expect(body.Resources.map(({ id }: { id: string }) => id)).toEqual(names);
      for (const name of names) {
        const { body: one } = await directory.send('GET', `/${list}/${name}`);
        expect(one).toEqual(body.Resources.find(({ id }: { id: string }) => id === name));
      }
      expect((await directory.send('GET', `/${list}/none`)).status).toBe(404);
    }
  });

  it('has the attributes of its schemas, in any case, and with the schema before the name', async () => {
    const urn = 'urn:ietf:params:scim:schemas:core:2.0:User';
    const { body } = await directory.send(
      'POST',
      '/Users',
      {
        USERNAME: 'case',
        [`${urn}:displayName`]: 'Case',
        Active: 'TRUE',
        Emails: [{ VALUE: 'c@example.com' }],
      },
      'application/json; charset=utf-8',
    );
    expect(body).toMatchObject({ userName: 'case', displayName: 'Case', active: true });
    const { body: patched } = await directory.patch(
      `/Users/${body.id.toUpperCase()}`,
      { op: 'REPLACE', path: `${urn}:name.givenName`, value: 'G' },
      { op: 'remove', path: 'EMAILS[value EQ "C@example.com"]' },
    );
    expect(patched).toMatchObject({ name: { givenName: 'G' } });
    expect(patched).not.toHaveProperty('emails');
  });

  it('returns the attributes that are asked for', async () => {
    const id = await directory.addUser('projected', { displayName: 'P', name: { givenName: 'G' } });
    const keys = async (query: string) =>
      Object.keys((await directory.send('GET', `/Users/${id}?${query}`)).body).sort();
    expect(await keys('attributes=userName,name.givenName')).toEqual(['id', 'name', 'schemas', 'userName']);
    expect(await keys('excludedAttributes=name,meta,id')).toEqual([
      ...['active', 'displayName', 'id', 'schemas', 'userName'],
    ]);
    expect(await keys('attributes=urn:ietf:params:scim:schemas:core:2.0:User:displayName')).toEqual([
      ...['displayName', 'id', 'schemas'],
    ]);
    expect(await keys('sortBy=userName&unknown=1')).toContain('userName');
  });

  it('lists all groups once, though a page ends where it has many members', async () => {
    const members = await Promise.all(['m1', 'm2', 'm3'].map((name) => directory.addUser(name)));
    for (let number = 0; number < 9; number += 1) await directory.addGroup(`group-${number}`, members);
    const found: string[] = [];
    for (let startIndex = 1; ; ) {
      const { body } = await directory.send('GET', `/Groups?count=4&startIndex=${startIndex}`);
      if (body.itemsPerPage === 0) break;
      found.push(...body.Resources.map(({ displayName }: { displayName: string }) => displayName));
      expect(body.Resources.every((group: { members: unknown[] }) => group.members.length === 3)).toBe(true);
      startIndex += body.itemsPerPage;
    }
    expect(found.sort()).toEqual(Array.from({ length: 9 }, (_, number) => `group-${number}`));
  });

  it('gives members the rights of teams at once, and takes them at once', async () => {
    const alice = await directory.addUser('alice', { externalId: 'id-of-alice' });
    const own = await personalToken('id-of-alice');
    const access = `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  teams: [{name: operators, members: [{ssoGroup: Operators}]}]
  groups: [{pattern: ops.example.com, owner: operators}]
`;
    expect((await directory.registry.send('PUT', '/api/v1/access', access)).status).toBe(200);
    const group = await directory.addGroup('Operators');
    expect(await whoami(own)).toMatchObject({ ssoGroups: [], teams: [] });
    await directory.patch(`/Groups/${group}`, { op: 'add', path: 'members', value: [{ value: alice }] });
    expect(await whoami(own)).toMatchObject({ ssoGroups: ['Operators'], teams: [{ team: 'operators' }] });
    await directory.patch(`/Groups/${group}`, { op: 'remove', path: `members[value eq "${alice}"]` });
    expect(await whoami(own)).toMatchObject({ ssoGroups: [], teams: [] });
    await directory.patch(`/Users/${alice}`, { op: 'replace', path: 'active', value: false });
    expect(await whoami(own)).toMatchObject({ status: 401 });
    const id = (await directory.user('id-of-alice'))!.id;
    const restored = await directory.registry.send('POST', `/api/v1/users/${id}/restore`);
    expect([restored.status, restored.body.code]).toEqual([409, 'conflict']);
    await directory.patch(`/Users/${alice}`, { op: 'replace', path: 'active', value: true });
    expect(await whoami(own)).toMatchObject({ name: 'own' });
  });

  it('confirms users for as long as the directory manages them', async () => {
    const { registry } = directory;
    const managed = await directory.addUser('managed');
    const signedIn = { issuer: 'https://sso.example.com', subject: 'signed-in', name: 'x', groups: [] };
    await registry.parts.store.confirmUser(signedIn, {
      at: registry.parts.clock().toISOString(),
      isSignIn: true,
    });
    const tokens = [await personalToken('managed'), await personalToken('signed-in')];
    registry.advance(31 * DAY);
    expect(await whoami(tokens[0]!)).toMatchObject({ name: 'own' });
    expect(await whoami(tokens[1]!)).toMatchObject({
      detail: expect.stringContaining('did not sign in for 30 days'),
    });
    await directory.send('DELETE', `/Users/${managed}`);
    const { id } = (await directory.user('managed'))!;
    expect((await registry.send('POST', `/api/v1/users/${id}/restore`)).status).toBe(200);
    expect(await whoami(tokens[0]!)).toMatchObject({ detail: 'the token "own" is revoked' });
    const later = await personalToken('managed');
    expect(await whoami(later)).toMatchObject({ detail: expect.stringContaining('did not sign in') });
  });

  it('does not confirm groups that only the last sign-in had', async () => {
    const { registry } = directory;
    const member = await directory.addUser('member');
    await directory.addGroup('Of the directory', [member]);
    const { issuer, subject, name } = (await directory.user('member'))!;
    const signIn = () =>
      registry.parts.store.confirmUser(
        { issuer, subject, name, groups: ['Of the claim', 'Of the directory'] },
        { at: registry.parts.clock().toISOString(), isSignIn: true },
      );
    await signIn();
    const own = await personalToken('member');
    const groups = async () => (await whoami(own)).ssoGroups;
    registry.advance(29 * DAY);
    expect(await groups()).toEqual(['Of the claim', 'Of the directory']);
    registry.advance(2 * DAY);
    expect(await groups()).toEqual(['Of the directory']);
    await signIn();
    expect(await groups()).toEqual(['Of the claim', 'Of the directory']);
  });

  it('does nothing without an identity provider', async () => {
    const without = await openTestRegistry({});
    try {
      const client = await ScimClient.open(without);
      const { status, body } = await client.send('GET', '/Users');
      expect([status, body]).toEqual([
        501,
        { schemas: [ERROR], status: '501', detail: expect.stringContaining('KRMHUB_OIDC_ISSUER') },
      ]);
    } finally {
      await without.close();
    }
  });

  it('records what a directory was refused', async () => {
    const { registry } = directory;
    const secret = (await registry.token({ name: 'reader', scopes: ['read'] })).secret;
    const response = await registry.request('/scim/v2/Users', {
      method: 'POST',
      headers: { Authorization: `Bearer ${secret}`, 'Content-Type': 'application/scim+json' },
      body: '{}',
    });
    expect([response.status, response.headers.get('content-type')]).toEqual([403, 'application/scim+json']);
    const { rows } = await registry.parts.store.auditRows(
      { actor: 'reader', outcome: 'refused' },
      { limit: 10 },
    );
    expect(rows.map(({ action, object }) => [action, object])).toEqual([['user.add', 'scim/v2/Users']]);
  });
});

describe('hostile requests to SCIM', () => {
  let user = '';
  let group = '';
  beforeAll(async () => {
    user = await directory.addUser('target', { emails: [{ value: 'a@example.com', type: 'work' }] });
    group = await directory.addGroup('target', [user]);
  });
  /** What must not change. */
  const state = async () => [
    (await directory.send('GET', `/Users/${user}`)).body,
    (await directory.send('GET', `/Groups/${group}`)).body,
    (await directory.send('GET', '/Users?count=0')).body.totalResults,
    (await directory.send('GET', '/Groups?count=0')).body.totalResults,
  ];
  const long = 'x'.repeat(300);
  const many = (count: number, make: (at: number) => JsonObject) =>
    Array.from({ length: count }, (_, at) => make(at));

  it.each<[string, JsonObject | string]>([
    ['no object', '[]'],
    ['no JSON', '{"userName": '],
    ['not UTF-8 text', '"\ud800"'],
    ['no userName', {}],
    ['an empty userName', { userName: '' }],
    ['a blank userName', { userName: ' ' }],
    ['a userName of another type', { userName: { toString: 'x' } }],
    ['a long userName', { userName: long }],
    ['a NUL', { userName: 'a\u0000b' }],
    ['a half of a character', { userName: 'a\ud800' }],
    ['text in another direction', { userName: 'a\u202eb' }],
    ['an externalId of another type', { userName: 'a1', externalId: 5 }],
    ['a NUL in the subject', { userName: 'a1', externalId: '\u0000' }],
    ['an active of another type', { userName: 'a1', active: 'yes' }],
    ['an active that is null', { userName: 'a1', active: null }],
    ['a name that is a list', { userName: 'a1', name: ['x'] }],
    ['too many emails', { userName: 'a1', emails: many(21, (at) => ({ value: `${at}@example.com` })) }],
    ['an email that is no object', { userName: 'a1', emails: ['a@example.com'] }],
    ['a long email', { userName: 'a1', emails: [{ value: long }] }],
    ['a wrong key', { userName: 'a1', 'emails[type eq': 'x' }],
    ['many keys', Object.fromEntries(Array.from({ length: 1_001 }, (_, at) => [`k${at}`, 1]))],
  ])('refuse a user with %s', async (_, body) => {
    const before = await state();
    const { status, body: answer } = await directory.send('POST', '/Users', body);
    expect([status, answer.schemas, answer.status]).toEqual([400, [ERROR], '400']);
    expect(answer.scimType).toMatch(/^invalid(Value|Syntax|Path)$/);
    expect(await state()).toEqual(before);
  });

  it.each<[string, unknown]>([
    ['no list', undefined],
    ['an empty list', []],
    ['too many', many(1_001, () => ({ op: 'replace', path: 'active', value: true }))],
    ['no object', ['replace']],
    ['an unknown op', [{ op: 'copy', path: 'active' }]],
    ['an op of another type', [{ op: ['add'], path: 'active', value: { a: 1 } }]],
    ['a remove without a path', [{ op: 'remove', value: { active: false } }]],
    ['no path and no object', [{ op: 'replace', value: 'x' }]],
    ['a path of another type', [{ op: 'replace', path: 1, value: 'x' }]],
    ['a path that cannot be read', [{ op: 'replace', path: 'emails[type eq "work"', value: 'x' }]],
    [
      'a filter with more than one value',
      [{ op: 'replace', path: 'emails[type eq "a" or type eq "b"].value', value: 'x' }],
    ],
    ['a wrong escape', [{ op: 'replace', path: 'emails[type eq "\\q"].value', value: 'x' }]],
    ['a filter of what is no list', [{ op: 'replace', path: 'name[type eq "a"].givenName', value: 'x' }]],
    ['no userName', [{ op: 'remove', path: 'userName' }]],
    ['no active', [{ op: 'remove', path: 'active' }]],
    ['a part of active', [{ op: 'replace', path: 'active.value', value: false }]],
    ['a filter of active', [{ op: 'replace', path: 'active[value eq true]', value: false }]],
    [
      'a change before one that is refused',
      [
        { op: 'replace', path: 'active', value: false },
        { op: 'remove', path: 'userName' },
      ],
    ],
  ])('refuse operations on a user: %s', async (_, Operations) => {
    const before = await state();
    const { status, body } = await directory.send('PATCH', `/Users/${user}`, { Operations } as JsonObject);
    expect([status, body.schemas]).toEqual([400, [ERROR]]);
    expect(await state()).toEqual(before);
  });

  it.each<[string, JsonObject]>([
    ['members that are no objects', { op: 'add', path: 'members', value: ['x'] }],
    ['a member without an ID', { op: 'add', path: 'members', value: [{ display: 'x' }] }],
    ['a member that is no ID', { op: 'add', path: 'members', value: [{ value: '\u0000' }] }],
    [
      'an unknown member',
      { op: 'add', path: 'members', value: [{ value: '00000000-0000-4000-8000-000000000000' }] },
    ],
    ['a filter to add', { op: 'add', path: 'members[value eq "x"]', value: {} }],
    ['a filter by another part', { op: 'remove', path: 'members[display eq "x"]' }],
    ['a part of members', { op: 'replace', path: 'members.value', value: 'x' }],
    ['no name', { op: 'remove', path: 'displayName' }],
    ['a part of the name', { op: 'replace', path: 'displayName.value', value: 'x' }],
    ['a name with control characters', { op: 'replace', path: 'displayName', value: 'a\u001b[31m' }],
  ])('refuse operations on a group: %s', async (_, operation) => {
    const before = await state();
    const { status, body } = await directory.patch(`/Groups/${group}`, operation);
    expect([status, body.schemas]).toEqual([400, [ERROR]]);
    expect(await state()).toEqual(before);
  });

  it('change nothing by names of JavaScript', async () => {
    const before = await state();
    const text = `{"Operations": [
      {"op": "add", "value": {"__proto__": {"active": false}, "constructor": {"prototype": {"x": 1}}}},
      {"op": "replace", "path": "__proto__", "value": {"isActive": false}},
      {"op": "replace", "path": "constructor.prototype", "value": 1},
      {"op": "remove", "path": "emails[constructor eq \\"x\\"]"},
      {"op": "replace", "path": "name.__proto__", "value": "x"}]}`;
    expect((await directory.send('PATCH', `/Users/${user}`, text)).status).toBe(200);
    expect(await state()).toEqual(before);
    expect(({} as { active?: unknown }).active).toBeUndefined();
  });

  it('refuse filters that nobody can read, and find nothing for values that nothing has', async () => {
    for (const filter of [
      '',
      'userName',
      'userName eq alice',
      'userName co "a"',
      'userName eq "a" or userName eq "b"',
      'emails.value eq "a"',
      'password eq "a"',
      'userName eq true',
      `userName eq "${'x'.repeat(2_000)}"`,
      'userName eq "\\q"',
      '__proto__ eq "x"',
    ]) {
      const { status, body } = await directory.send('GET', `/Users?filter=${encodeURIComponent(filter)}`);
      expect([filter, status, body.scimType]).toEqual([filter, 400, expect.stringMatching(/^invalid/)]);
    }
    for (const value of ['\\u0000', '\\ud800', '%', '_', "' OR 1=1 --", 'x'.repeat(900)]) {
      for (const attribute of ['userName', 'externalId', 'id']) {
        const filter = encodeURIComponent(`${attribute} eq "${value}"`);
        const { status, body } = await directory.send('GET', `/Users?filter=${filter}`);
        expect([value, status, body.totalResults]).toEqual([value, 200, 0]);
      }
    }
    for (const [query, startIndex, items] of [
      ['startIndex=-5&count=1', 1, 1],
      ['startIndex=999999999999&count=1', 1_000_000_000, 0],
      ['count=-1', 1, 0],
    ] as const) {
      const { body } = await directory.send('GET', `/Users?${query}`);
      expect([body.startIndex, body.itemsPerPage]).toEqual([startIndex, items]);
    }
    expect((await directory.send('GET', '/Users?count=many')).body.scimType).toBe('invalidValue');
  });

  it('refuse bodies that are too large or of another type, and paths that do not exist', async () => {
    const large = JSON.stringify({ userName: 'x', title: 'x'.repeat(SERVER_LIMITS.maxScimBytes) });
    expect((await directory.send('POST', '/Users', large)).body.status).toBe('413');
    expect((await directory.send('POST', '/Users', '{"userName":"x"}', 'text/plain')).body.status).toBe(
      '415',
    );
    for (const path of ['/Bulk', '/Me', '/Users/none', `/Users/${'0'.repeat(36)}`, '/Groups/%00', '/']) {
      const { status, headers, body } = await directory.send('GET', path);
      expect([path, status, headers.get('content-type'), body.schemas]).toEqual([
        ...[path, 404, 'application/scim+json'],
        [ERROR],
      ]);
    }
    const { status, headers } = await directory.send('POST', `/Users/${user}`, {});
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD, PUT, PATCH, DELETE']);
  });

  it('do not fail, whatever the operations are', async () => {
    const random = new Random(7);
    const PATHS = [
      ...['userName', 'externalId', 'active', 'displayName', 'name', 'name.givenName', 'emails', 'members'],
      ...['emails[type eq "work"].value', 'emails[primary eq true]', 'emails.value', 'title', 'a[', ''],
      ...[`members[value eq "${user}"]`, 'urn:x:y', 'emails[type eq "work"]', 'displayname'],
    ];
    const VALUES: unknown[] = [
      ...[
        null,
        true,
        'False',
        '',
        'text',
        5,
        [],
        {},
        [null],
        [[]],
        { value: 'v' },
        [{ value: 'v', type: 't' }],
      ],
      ...[[{ value: user }], { value: user }, { active: 'x' }, { displayName: 'd' }, { emails: 5 }],
    ];
    for (let step = 0; step < 400; step += 1) {
      const Operations = Array.from({ length: 1 + random.below(3) }, () => ({
        op: random.pick(['add', 'Replace', 'remove']),
        ...(random.chance(0.8) ? { path: random.pick(PATHS) } : {}),
        ...(random.chance(0.8) ? { value: random.pick(VALUES) } : {}),
      }));
      const path = random.pick([`/Users/${user}`, `/Groups/${group}`]);
      const { status } = await directory.send('PATCH', path, { Operations } as JsonObject);
      expect([JSON.stringify(Operations), [200, 204, 400].includes(status)]).toEqual([
        JSON.stringify(Operations),
        true,
      ]);
      const { status: read, body } = await directory.send('GET', path);
      expect([read, typeof (body.userName ?? body.displayName)]).toEqual([200, 'string']);
    }
  });
});

it('has a handler for each route', async () => {
  for (const { method, path } of Object.values(SCIM_ROUTES)) {
    const { status, body } = await directory.send(
      method.toUpperCase(),
      path.slice('/scim/v2'.length).replace('{id}', '00000000-0000-4000-8000-000000000000'),
      ['post', 'put', 'patch'].includes(method) ? {} : undefined,
    );
    expect([path, status === 404 ? body.detail : 'found']).toEqual([
      path,
      expect.stringMatching(/^(?:found|resource .* not found)/),
    ]);
  }
});
