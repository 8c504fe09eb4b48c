import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it } from 'vitest';
import { VISIBILITIES } from './access-document.js';
import { AccessRules } from './access-rules.js';
import { type AccessObject, type Actor, ANONYMOUS, can, INSIDER, tokenActor } from './can.js';
import { userActor } from './compare-access.js';
import { readAccess } from './read-access.js';
import type { Action } from './scopes.js';
import { ssoGroups, userLabel } from './team-members.js';

const HEAD = 'apiVersion: krmhub.dev/v1alpha1\nkind: Access\nmetadata: {name: registry}\nspec:\n';

function read(spec: string) {
  return readAccess(new TextEncoder().encode(HEAD + spec.replaceAll(/^/gm, '  ')), 'access.yaml');
}

function rules(spec: string, ...claims: ConstructorParameters<typeof AccessRules>[1] & object): AccessRules {
  const { access, diagnostics } = read(spec);
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  return new AccessRules(access, claims);
}

const token = (given: Partial<Actor>): Actor => ({
  name: 'ci',
  id: 'ci',
  scopes: ['publish', 'yank'],
  groups: ['*'],
  repositories: ['*'],
  isInside: true,
  ...given,
});
const admin = token({ scopes: ['read', 'publish', 'yank', 'push', 'admin'] });

const SPEC = `teams: [{name: platform}, {name: sre}, {name: apps}]
openGroups: ["*.sandbox.example.com"]
groups:
- {pattern: "*.platform.example.com", owner: platform, visibility: internal}
- pattern: net.platform.example.com
  visibility: private
- pattern: apps.example.com
  owner: apps
  functions: [{kind: Secret, visibility: private}, {kind: RotateKeys, visibility: private}]
catalogs:
- {pattern: "in-*", visibility: internal}
- {pattern: in-secret, visibility: private}
repositories:
- {pattern: "team/*", visibility: private}
grants:
- {to: {team: sre}, may: [read, yank], in: {group: "*.platform.example.com"}}
- {to: {team: sre}, may: [read], in: {catalog: in-secret}}
`;

describe('an Access document', () => {
  it('is read whole, and every problem is reported at once', () => {
    const { access, diagnostics } = read(`teams: [{name: a}, {name: a}, {name: B_}]
groups:
- {pattern: "exa mple", owner: nobody}
- {pattern: x.example.com, visibility: secret}
- {pattern: x.example.com, visibility: private, functions: [{kind: A, visibility: public}]}
repositories: [{pattern: functions/x, visibility: private}]
grants: [{to: {team: a}, may: [fly], in: {group: x, catalog: z}}]
more: 1`);
    expect(access).toBeUndefined();
    expect(diagnostics.map(({ code, range }) => `${range?.start.line} ${code}`)).toMatchSnapshot();
  });

  it('names what a misspelled value or team may mean', () => {
    const { diagnostics } = read(
      'teams: [{name: search}]\ngroups: [{pattern: a.example.com, owner: serch, visibility: privat}, {pattern: b.example.com, owner: payments}]',
    );
    expect(diagnostics.map(({ message, hint }) => [message, hint])).toEqual([
      ['"serch" is not a team', 'Did you mean `search`?'],
      ['"privat" is not one of public, internal, private', 'Did you mean `private`?'],
      ['"payments" is not a team', 'Add the team, or correct the name.'],
    ]);
  });

  it('hides a kind that a rule names twice as the narrowest says', () => {
    for (const [first, second] of [
      ['private', 'public'],
      ['public', 'private'],
      ['private', 'internal'],
    ]) {
      const found = rules(`groups:
- pattern: a.example.com
  functions: [{kind: Secret, visibility: ${first}}, {kind: SECRET, visibility: ${second}}]`);
      expect(found.visibilityOf('a.example.com', 'Secret'), `${first} ${second}`).toBe('private');
    }
  });

  it('has members, and warns of one that nobody can be', () => {
    const { access, diagnostics } = read(
      'teams: [{name: a, members: [{user: "https://sso.example.com x"}, {user: alice}, {ssoGroup: ops}]}]',
    );
    expect(access?.teams[0]?.members).toHaveLength(3);
    expect(diagnostics.map(({ code }) => code)).toEqual(['access/member']);
  });

  it('gives roles in the whole registry only', () => {
    const of = (grant: string) =>
      read(`teams: [{name: a}]\ngrants: [{to: {team: a}, may: [admin], in: ${grant}}]`).diagnostics.map(
        ({ code }) => code,
      );
    expect(of('{group: "*"}')).toEqual([]);
    for (const grant of ['{group: "*.example.com"}', '{catalog: "*"}', '{repository: "*"}'])
      expect(of(grant), grant).toEqual(['access/role']);
  });
});

describe('users', () => {
  const issuer = 'https://sso.example.com';
  const all = rules(`teams:
- {name: ops, members: [{ssoGroup: platform-engineers}]}
- {name: sre, members: [{user: "${issuer} alice id"}, {ssoGroup: "https://b.example.com on call"}]}
- {name: gone}
groups: [{pattern: "*.ops.example.com", owner: ops, visibility: private}]
openGroups: ["*.sandbox.example.com"]
repositories: [{pattern: "secret/*", visibility: private}]
grants:
- {to: {team: sre}, may: [publish], in: {repository: "tools/*"}}
- {to: {team: ops}, may: [audit], in: {group: "*"}}
- {to: {team: sre}, may: [admin], in: {group: "*"}}`);
  const user = (subject: string, groups: string[] = [], of = issuer) =>
    userActor(all, { id: subject, name: subject, issuer: of, subject, groups });
  const may = (actor: Actor, action: Action, object: AccessObject) => can(all, actor, action, object).allowed;

  it('are in teams by their own identity and their groups, each of one provider', () => {
    expect(user('alice id').teams).toEqual(['sre']);
    expect(user('alice id', [], 'https://b.example.com').teams).toEqual([]);
    expect(user('bob', ['platform-engineers', 'https://b.example.com on call']).teams).toEqual([
      'ops',
      'sre',
    ]);
    expect(user('bob', ['ops', 'user https://sso.example.com alice id']).teams).toEqual([]);
    const [first, second] = [true, false].map((isFirst) =>
      ssoGroups({ issuer: 'https://b.example.com', isFirst }, ['on call', 'https://sso.example.com x', 'a']),
    );
    expect(first).toEqual(['a', 'https://b.example.com https://sso.example.com x', 'on call']);
    expect(second).toEqual(
      ['a', 'https://sso.example.com x', 'on call'].map((one) => `https://b.example.com ${one}`),
    );
  });

  it('have the rights of their teams, and none by their scopes alone', () => {
    const [nobody, ops, admins] = [user('x'), user('x', ['platform-engineers']), user('alice id')];
    const hidden = { group: 'a.ops.example.com' };
    for (const action of ['read', 'publish', 'yank', 'own'] as const)
      expect([nobody, ops].map((actor) => may(actor, action, hidden))).toEqual([false, true]);
    expect(may(nobody, 'publish', { group: 'example.org' })).toBe(false);
    expect(may(nobody, 'publish', { group: 'x.sandbox.example.com', isNew: true })).toBe(true);
    expect(may(nobody, 'push', { repository: 'tools/a' })).toBe(false);
    expect(may(ops, 'push', { repository: 'tools/a' })).toBe(false);
    expect(may(nobody, 'push', { catalog: 'default' })).toBe(false);
    expect([nobody, ops, admins].map((actor) => may(actor, 'audit', 'registry'))).toEqual([
      false,
      true,
      true,
    ]);
    expect([nobody, ops, admins].map((actor) => may(actor, 'admin', 'registry'))).toEqual([
      false,
      false,
      true,
    ]);
  });

  it('have personal tokens that are never more than the user or than the token', () => {
    const random = new Random(43);
    const scopes = ['read', 'publish', 'yank', 'push', 'audit', 'admin'];
    const objects: AccessObject[] = [
      ...['a.ops.example.com', 'example.org', 'x.sandbox.example.com'].map((group) => ({ group })),
      ...[{ catalog: 'default' }, { repository: 'tools/a' }, { repository: 'secret/a' }, 'registry' as const],
    ];
    let allowed = 0;
    for (let round = 0; round < 500; round += 1) {
      const groups = random.some(['platform-engineers', 'https://b.example.com on call'], 0.5);
      const identity = { id: 'u', name: 'u', issuer, subject: random.pick(['alice id', 'bob']), groups };
      const limits = {
        scopes: random.some(scopes, 0.5),
        groups: random.chance(0.5) ? ['*'] : ['a.ops.example.com'],
        repositories: random.chance(0.5) ? ['*'] : ['tools/*'],
      };
      const personal = tokenActor(all, { ...limits, id: 't', name: 't', user: identity });
      for (const object of objects) {
        for (const action of [...scopes, 'own'] as Action[]) {
          if (!may(personal, action, object)) continue;
          allowed += 1;
          expect(may(userActor(all, identity), action, object), `${action} ${JSON.stringify(object)}`).toBe(
            true,
          );
        }
      }
    }
    expect(allowed).toBeGreaterThan(500);
  });

  it('have names in records that nobody else can have', () => {
    const label = userLabel({ name: 'Bob (alice at sso.example.com)', subject: 'bob', issuer });
    expect(label).toBe('Bob alice at sso.example.com (bob at sso.example.com)');
  });
});

it.each([
  ['scripts/team/*', true],
  ['scripts', true],
  ['apps/*', true],
  ['scripts/example.com/*', false],
  ['scripts/*', false],
  ['scripts/te*/x', false],
  ['functions/*', false],
  ['catalogs/one', false],
])('a rule for the repositories %s is read only if no function or catalog decides: %s', (pattern, isRead) => {
  const { access } = read(`repositories: [{pattern: "${pattern}", visibility: private}]`);
  expect(access !== undefined).toBe(isRead);
});

describe('rules', () => {
  it('follow the most specific pattern, for owner and visibility apart', () => {
    const all = rules(SPEC);
    expect(all.visibilityOf('a.platform.example.com')).toBe('internal');
    expect(all.visibilityOf('net.platform.example.com')).toBe('private');
    expect(all.ownerOf('net.platform.example.com')).toMatchObject({
      team: 'platform',
      proof: 'administrator',
    });
    expect(all.visibilityOf('apps.example.com', 'SECRET')).toBe('private');
    expect(all.visibilityOf('apps.example.com', 'Other')).toBe('public');
    expect(all.visibilityOf('apps.example.com', 'rotate-keys')).toBe('private');
    expect(all.catalogVisibility('in-secret')).toBe('private');
    expect(all.catalogVisibility('in-other')).toBe('internal');
    expect(all.hidesAnything).toBe(true);
    expect(rules('openGroups: ["*"]').hidesAnything).toBe(false);
  });

  it('take the word of an administrator before a proof', () => {
    const all = rules(
      SPEC,
      { group: 'apps.example.com', team: 'sre', proof: 'dns' },
      { group: 'new.example.com', team: 'sre', proof: 'https' },
    );
    expect(all.ownerOf('apps.example.com')?.team).toBe('apps');
    expect(all.ownerOf('new.example.com')).toEqual({ team: 'sre', proof: 'https', by: 'new.example.com' });
  });
});

describe('can', () => {
  const all = rules(SPEC);
  const may = (actor: Actor, action: Parameters<typeof can>[2], object: Parameters<typeof can>[3]) =>
    can(all, actor, action, object).allowed;

  it('shows internal things to everybody inside, and private ones to those with a grant', () => {
    const internal = { group: 'a.platform.example.com', kind: 'X' };
    const hidden = { group: 'net.platform.example.com', kind: 'X' };
    const reader = token({ scopes: ['push'], groups: ['*'] });
    expect([ANONYMOUS, INSIDER, reader, admin].map((actor) => may(actor, 'read', internal))).toEqual([
      ...[false, true, true, true],
    ]);
    expect([ANONYMOUS, INSIDER, reader, admin].map((actor) => may(actor, 'read', hidden))).toEqual([
      ...[false, false, false, true],
    ]);
    const team = (name: string, groups = ['*']) => token({ scopes: ['read'], teams: [name], groups });
    expect(['platform', 'sre', 'apps', 'gone'].map((name) => may(team(name), 'read', hidden))).toEqual([
      ...[true, true, false, false],
    ]);
    expect(may(team('platform', ['other.example.com']), 'read', hidden)).toBe(false);
    expect(may(token({ scopes: ['read'], groups: ['net.platform.example.com'] }), 'read', hidden)).toBe(true);
    expect(may(team('sre'), 'read', { catalog: 'in-secret' })).toBe(true);
    expect(may(team('apps'), 'read', { catalog: 'in-secret' })).toBe(false);
    expect(may(token({ scopes: ['audit'], teams: ['platform'] }), 'read', hidden)).toBe(false);
    const limited = (repositories: string[]) => ({ ...team('sre'), repositories });
    expect(may(limited(['catalogs/*']), 'read', { catalog: 'in-secret' })).toBe(true);
    expect(may(limited(['team/*']), 'read', { catalog: 'in-secret' })).toBe(false);
  });

  it('lets only the owner and its grants change an owned group', () => {
    const group = 'a.platform.example.com';
    expect(may(token({}), 'publish', { group })).toBe(false);
    expect(may(token({ teams: ['platform'] }), 'publish', { group })).toBe(true);
    expect(may(token({ teams: ['platform'], scopes: ['read'] }), 'publish', { group })).toBe(false);
    expect(may(token({ teams: ['sre'] }), 'publish', { group })).toBe(false);
    expect(may(token({ teams: ['sre'] }), 'yank', { group })).toBe(true);
    expect(may(token({ teams: ['platform'], scopes: ['yank'] }), 'publish', { group })).toBe(false);
    expect(may(admin, 'publish', { group })).toBe(true);
    expect(may(token({ teams: ['platform'] }), 'own', { group })).toBe(true);
    expect(may(token({ teams: ['sre'] }), 'own', { group })).toBe(false);
  });

  it('lets a token begin a group only if it is open, or named without a wildcard', () => {
    const begin = (actor: Actor, group: string) => may(actor, 'publish', { group, isNew: true });
    expect(begin(token({}), 'new.example.com')).toBe(false);
    expect(begin(token({ groups: ['*.example.com'] }), 'new.example.com')).toBe(false);
    expect(begin(token({ groups: ['new.example.com'] }), 'new.example.com')).toBe(true);
    expect(begin(token({}), 'x.sandbox.example.com')).toBe(true);
    expect(begin(admin, 'new.example.com')).toBe(true);
    expect(may(token({}), 'publish', { group: 'new.example.com' })).toBe(true);
  });

  it('does not let a team change what it cannot read', () => {
    const made = rules(`teams: [{name: a}, {name: b}]
openGroups: ["*"]
groups:
- {pattern: hidden.x, visibility: private}
- {pattern: some.x, functions: [{kind: Hidden, visibility: private}]}
- {pattern: inner.x, visibility: internal}
repositories: [{pattern: "apps/*", visibility: private}]
grants:
- {to: {team: a}, may: [read], in: {group: "*.x"}}
- {to: {team: a}, may: [read], in: {repository: "apps/*"}}
- {to: {team: a}, may: [publish], in: {repository: apps/a}}`);
    const [a, b] = ['a', 'b'].map((team) => token({ teams: [team], scopes: ['publish', 'yank', 'push'] }));
    for (const action of ['publish', 'yank'] as const) {
      const may = (actor: Actor, group: string) => can(made, actor, action, { group }).allowed;
      expect(['hidden.x', 'some.x', 'inner.x', 'z.x'].map((group) => may(b!, group))).toEqual([
        ...[false, false, true, true],
      ]);
      expect(['hidden.x', 'some.x'].map((group) => may(a!, group))).toEqual([true, true]);
      expect(may(token({}), 'hidden.x')).toBe(true);
    }
    const pushes = (actor: Actor, repository: string) => can(made, actor, 'push', { repository }).allowed;
    expect(['apps/a', 'apps/b', 'other/b'].map((name) => pushes(a!, name))).toEqual([true, false, true]);
    expect(['apps/a', 'apps/b', 'other/b'].map((name) => pushes(b!, name))).toEqual([false, false, true]);
    expect(pushes(token({ scopes: ['push'] }), 'apps/a')).toBe(true);
  });

  it('never shows more to somebody with fewer rights (random rules)', () => {
    let seed = 7;
    const random = (count: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((seed / 2_147_483_648) * count);
    };
    const names = ['a', 'b', 'c'];
    for (let round = 0; round < 500; round++) {
      const groups = [...new Set(names.map(() => ['*', 'a.x', '*.x', 'b.x', 'b.*'][random(5)]!))];
      const spec = `teams: [{name: a}, {name: b}, {name: c}]
groups: [${groups.map((one) => `{pattern: "${one}", owner: ${names[random(3)]}, visibility: ${VISIBILITIES[random(3)]}}`).join(', ')}]
grants: [{to: {team: ${names[random(3)]}}, may: [read], in: {group: "*.x"}}]`;
      const made = rules(spec);
      const object = { group: ['a.x', 'b.x', 'c.y'][random(3)]!, kind: 'K' };
      const sees = (actor: Actor) => Number(can(made, actor, 'read', object).allowed);
      const team = names[random(3)]!;
      const weak = token({ scopes: ['read'], teams: [team], groups: ['z'] });
      expect(sees(ANONYMOUS)).toBeLessThanOrEqual(sees(INSIDER));
      expect(sees(INSIDER)).toBeLessThanOrEqual(sees(weak));
      expect(sees(weak)).toBeLessThanOrEqual(sees({ ...weak, groups: ['*'] }));
      expect(sees({ ...weak, groups: ['*'] })).toBeLessThanOrEqual(sees(admin));
      expect(sees(admin)).toBe(1);
    }
  });
});
