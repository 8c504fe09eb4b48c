import { describe, expect, it } from 'vitest';
import { VISIBILITIES } from './access-document.js';
import { AccessRules } from './access-rules.js';
import { type Actor, ANONYMOUS, can, INSIDER } from './can.js';
import { readAccess } from './read-access.js';

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

  it('says that members have no effect yet', () => {
    const { access, diagnostics } = read(
      'teams: [{name: a, members: [{user: "https://sso.example.com x"}]}]',
    );
    expect(access?.teams[0]?.members).toEqual([{ user: 'https://sso.example.com x' }]);
    expect(diagnostics.map(({ code }) => code)).toEqual(['access/unused-members']);
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
    const team = (name: string, groups = ['*']) => token({ scopes: ['read'], team: name, groups });
    expect(['platform', 'sre', 'apps', 'gone'].map((name) => may(team(name), 'read', hidden))).toEqual([
      ...[true, true, false, false],
    ]);
    expect(may(team('platform', ['other.example.com']), 'read', hidden)).toBe(false);
    expect(may(token({ scopes: ['read'], groups: ['net.platform.example.com'] }), 'read', hidden)).toBe(true);
    expect(may(team('sre'), 'read', { catalog: 'in-secret' })).toBe(true);
    expect(may(team('apps'), 'read', { catalog: 'in-secret' })).toBe(false);
    expect(may(token({ scopes: ['audit'], team: 'platform' }), 'read', hidden)).toBe(false);
    const limited = (repositories: string[]) => ({ ...team('sre'), repositories });
    expect(may(limited(['catalogs/*']), 'read', { catalog: 'in-secret' })).toBe(true);
    expect(may(limited(['team/*']), 'read', { catalog: 'in-secret' })).toBe(false);
  });

  it('lets only the owner and its grants change an owned group', () => {
    const group = 'a.platform.example.com';
    expect(may(token({}), 'publish', { group })).toBe(false);
    expect(may(token({ team: 'platform' }), 'publish', { group })).toBe(true);
    expect(may(token({ team: 'platform', scopes: ['read'] }), 'publish', { group })).toBe(false);
    expect(may(token({ team: 'sre' }), 'publish', { group })).toBe(false);
    expect(may(token({ team: 'sre' }), 'yank', { group })).toBe(true);
    expect(may(token({ team: 'platform', scopes: ['yank'] }), 'publish', { group })).toBe(false);
    expect(may(admin, 'publish', { group })).toBe(true);
    expect(may(token({ team: 'platform' }), 'own', { group })).toBe(true);
    expect(may(token({ team: 'sre' }), 'own', { group })).toBe(false);
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
    const [a, b] = ['a', 'b'].map((team) => token({ team, scopes: ['publish', 'yank', 'push'] }));
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
      const weak = token({ scopes: ['read'], team, groups: ['z'] });
      expect(sees(ANONYMOUS)).toBeLessThanOrEqual(sees(INSIDER));
      expect(sees(INSIDER)).toBeLessThanOrEqual(sees(weak));
      expect(sees(weak)).toBeLessThanOrEqual(sees({ ...weak, groups: ['*'] }));
      expect(sees({ ...weak, groups: ['*'] })).toBeLessThanOrEqual(sees(admin));
      expect(sees(admin)).toBe(1);
    }
  });
});
