import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it } from 'vitest';
import {
  type AccessDocument,
  GRANTED_ACTIONS,
  type Grant,
  NO_ACCESS,
  ROLES,
  VISIBILITIES,
} from './access-document.js';
import { AccessRules, type OwnerClaim } from './access-rules.js';
import { type ActingToken, can } from './can.js';
import {
  actionsOn,
  COMPARISON_LIMITS,
  compareAccess,
  comparedActors,
  comparedObjects,
} from './compare-access.js';
import { accessObjectText, parseAccessObject } from './object-text.js';

const GROUPS = ['a.example.com', 'b.example.com', 'c.test', 'd.test'];
const GROUP_PATTERNS = [...GROUPS, '*', '*.example.com', '*.test', 'a.*'];
const CATALOGS = ['default', 'in-house', 'in-*', '*'];
const REPOSITORIES = ['team/base', 'team/*', 'other', '*'];
const TEAMS = ['red', 'green', 'blue'];
const KINDS = ['SetLabels', 'Secret'];
const ISSUER = 'https://sso.example.com';
const SSO_GROUPS = ['one', 'two'];
const NAMES = { groups: GROUPS.slice(0, 3), catalogs: ['default', 'in-house'], repositories: ['team/base'] };

function randomGrant(random: Random, teams: readonly string[]): Grant {
  const object = random.pick([
    { group: random.pick(GROUP_PATTERNS) },
    { catalog: random.pick(CATALOGS) },
    { repository: random.pick(REPOSITORIES) },
  ]);
  const team = random.pick(teams);
  if (random.chance(0.2)) return { team, may: random.some(ROLES, 0.7), in: { group: '*' } };
  return { team, may: random.some(GRANTED_ACTIONS, 0.5), in: object };
}

function randomRules(random: Random, previous?: AccessRules): AccessRules {
  const teams = random.some(TEAMS, 0.8);
  const names = teams.length === 0 ? ['red'] : teams;
  const visible = (patterns: readonly string[]) =>
    random.some(patterns, 0.3).map((pattern) => ({ pattern, visibility: random.pick(VISIBILITIES) }));
  const fresh: AccessDocument = {
    openGroups: random.some(GROUP_PATTERNS, 0.2),
    teams: names.map((name) => ({
      name,
      members: [
        ...random.some(SSO_GROUPS, 0.3).map((ssoGroup) => ({ ssoGroup })),
        ...(random.chance(0.2) ? [{ user: `${ISSUER} s0` }] : []),
      ],
    })),
    groups: random.some(GROUP_PATTERNS, 0.4).map((pattern) => ({
      pattern,
      ...(random.chance(0.5) ? { owner: random.pick(names) } : {}),
      ...(random.chance(0.5) ? { visibility: random.pick(VISIBILITIES) } : {}),
      functions: random.some(KINDS, 0.2).map((kind) => ({ kind, visibility: random.pick(VISIBILITIES) })),
    })),
    catalogs: visible(CATALOGS),
    repositories: visible(REPOSITORIES),
    grants: Array.from({ length: random.below(4) }, () => randomGrant(random, names)),
  };
  const claims: OwnerClaim[] = random
    .some(GROUPS, 0.2)
    .map((group) => ({ group, team: random.pick(TEAMS), proof: 'dns' }));
  if (previous === undefined || random.chance(0.3)) return new AccessRules(fresh, claims);
  // Most changes are small.
  const { document } = previous;
  const field = random.pick(Object.keys(fresh) as (keyof AccessDocument)[]);
  const known = new Map([...document.teams, ...fresh.teams].map((team) => [team.name, team]));
  // What names a team is refused without the team.
  return new AccessRules({ ...document, [field]: fresh[field], teams: [...known.values()] }, previous.claims);
}

function randomToken(random: Random, at: number): ActingToken {
  const scopes = random.some(['read', 'publish', 'yank', 'push', 'admin'], 0.5);
  return {
    name: `token ${at}`,
    id: `id-${at}`,
    scopes,
    groups: random.chance(0.4) ? ['*'] : random.some(GROUP_PATTERNS, 0.3),
    repositories: random.chance(0.4) ? ['*'] : random.some(REPOSITORIES, 0.5),
    ...(random.chance(0.5) ? { team: random.pick(TEAMS) } : {}),
  };
}

function randomUser(random: Random, at: number) {
  const groups = random.some(SSO_GROUPS, 0.5);
  return { id: `id-${at}`, name: `user ${at}`, issuer: ISSUER, subject: `s${at}`, groups };
}

describe('a comparison of Access documents', () => {
  it('reports what changes for an actor on an object, and nothing else', () => {
    const random = new Random(8);
    let reported = 0;
    for (let round = 0; round < 400; round += 1) {
      const before = randomRules(random);
      const after = randomRules(random, before);
      const tokens = Array.from({ length: 3 }, (_, at) => randomToken(random, at));
      const users = Array.from({ length: 2 }, (_, at) => randomUser(random, at));
      const { changes, count } = compareAccess(before, after, { tokens, users, names: NAMES });
      expect(changes).toHaveLength(count);
      const told = new Set<string>();
      for (const { change, actions, actors, actorCount, objects, objectCount } of changes) {
        expect(actors).toHaveLength(actorCount);
        expect(objects.length === objectCount || objects.length === COMPARISON_LIMITS.maxObjects).toBe(true);
        for (const actor of actors)
          for (const object of objects)
            for (const action of actions) told.add(JSON.stringify([actor, object, action, change]));
      }
      const isWhole = changes.every(({ objects, objectCount }) => objects.length === objectCount);
      const wanted = new Set<string>();
      for (const { actor, shown } of comparedActors([before, after], { tokens, users })) {
        for (const { object, text } of comparedObjects([before, after], tokens, NAMES)) {
          for (const action of actionsOn(object)) {
            const had = can(before, actor(before), action, object).allowed;
            const has = can(after, actor(after), action, object).allowed;
            if (had !== has) wanted.add(JSON.stringify([shown, text, action, has ? 'gains' : 'loses']));
          }
        }
      }
      if (isWhole) expect([...told].sort()).toEqual([...wanted].sort());
      else for (const one of told) expect(wanted).toContain(one);
      reported += told.size;
    }
    expect(reported).toBeGreaterThan(1_000);
  });

  it('reports nothing for the same document', () => {
    const random = new Random(9);
    for (let round = 0; round < 50; round += 1) {
      const rules = randomRules(random);
      const again = new AccessRules(structuredClone(rules.document), rules.claims);
      const [tokens, users] = [[randomToken(random, 0)], [randomUser(random, 0)]];
      expect(compareAccess(rules, again, { tokens, users, names: NAMES })).toEqual({ changes: [], count: 0 });
    }
  });

  it('names the owner because of which a token loses its right, and new names by their pattern', () => {
    const ci = {
      name: 'ci',
      id: '1',
      scopes: ['publish'],
      groups: ['*'],
      repositories: ['*'],
    };
    const before = new AccessRules({ ...NO_ACCESS, openGroups: ['*'] });
    const after = new AccessRules({
      ...NO_ACCESS,
      teams: [{ name: 'red', members: [] }],
      groups: [{ pattern: '*.example.com', owner: 'red', functions: [] }],
    });
    expect(compareAccess(before, after, { tokens: [ci], users: [], names: NAMES }).changes).toMatchSnapshot();
  });

  it('counts what it leaves out', () => {
    const groups = Array.from({ length: 500 }, (_, at) => `g${at}.example.com`);
    const token = (at: number): ActingToken => ({
      name: `t${at}`,
      scopes: ['publish'],
      groups: ['*'],
      repositories: [],
    });
    const { changes, count } = compareAccess(
      new AccessRules({ ...NO_ACCESS, openGroups: ['*'] }),
      new AccessRules({ ...NO_ACCESS, groups: [{ pattern: '*.example.com', owner: 'red', functions: [] }] }),
      {
        tokens: Array.from({ length: 30 }, (_, at) => token(at)),
        users: [],
        names: { groups, catalogs: [], repositories: [] },
      },
    );
    expect(count).toBe(2);
    expect(
      changes.map(({ actors, actorCount, objects, objectCount }) => [
        actors.length,
        actorCount,
        objects.length,
        objectCount,
      ]),
    ).toEqual([
      [20, 30, 20, 501],
      [20, 30, 1, 1],
    ]);
  });
});

describe('the text of an object', () => {
  it.each(['registry', 'example.com', 'example.com/SetLabels', 'catalog:default', 'repository:team/base'])(
    'is read as it is written: %s',
    (text) => {
      const object = parseAccessObject(text);
      expect(object && accessObjectText(object)).toBe(text);
    },
  );

  it.each(['', 'EXAMPLE.com', 'example.com/', 'example.com/a/b', 'function:x', 'catalog:'])(
    'is refused where it names nothing: %s',
    (text) => expect(parseAccessObject(text)).toBeUndefined(),
  );
});
