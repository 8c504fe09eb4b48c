import { defined } from '@krmhub/schema/defined';
import { Random } from '@krmhub/yaml/testing/random';
import { expect, it } from 'vitest';
import { type AccessDocument, GRANTED_ACTIONS, NO_ACCESS, VISIBILITIES } from './access-document.js';
import { AccessRules } from './access-rules.js';
import { type Actor, ANONYMOUS, can, INSIDER } from './can.js';
import { catalogReaderRules, catalogReaders } from './catalog-readers.js';

const GROUPS = ['a.example.com', 'b.example.com', 'c.other.example'];
const GROUP_PATTERNS = [...GROUPS, '*.example.com', '*'];
const CATALOGS = ['one', 'two', 'two-more'];
const CATALOG_PATTERNS = [...CATALOGS, 'two*', '*'];
const KINDS = ['SetLabels', 'Split'];
const TEAMS = ['red', 'green', 'blue'];

function randomRules(random: Random): AccessRules {
  const document: AccessDocument = {
    openGroups: random.some(GROUP_PATTERNS, 0.2),
    // One may have a grant and not exist any more.
    teams: random.some(TEAMS, 0.8).map((name) => ({ name, members: [] })),
    groups: random.some(GROUP_PATTERNS, 0.6).map((pattern) => ({
      pattern,
      ...(random.chance(0.4) ? { owner: random.pick(TEAMS) } : {}),
      ...(random.chance(0.7) ? { visibility: random.pick(VISIBILITIES) } : {}),
      functions: random
        .some(KINDS, 0.4)
        .map((kind) => ({ kind: kind.toUpperCase(), visibility: random.pick(VISIBILITIES) })),
    })),
    catalogs: random
      .some(CATALOG_PATTERNS, 0.6)
      .map((pattern) => ({ pattern, visibility: random.pick(VISIBILITIES) })),
    repositories: [],
    grants: random.some([0, 1, 2, 3, 4, 5], 0.6).map(() => ({
      team: random.pick(TEAMS),
      may: random.shuffled(GRANTED_ACTIONS).slice(0, 1 + random.below(2)),
      in: random.chance(0.5)
        ? { group: random.pick(GROUP_PATTERNS) }
        : { catalog: random.pick(CATALOG_PATTERNS) },
    })),
  };
  return new AccessRules(document);
}

/** Every actor whose rights the Access document gives, and administrators. */
const ACTORS: Actor[] = [
  ANONYMOUS,
  INSIDER,
  ...[...TEAMS, undefined].flatMap((team) =>
    [['read'], ['publish'], ['push'], ['yank', 'publish'], ['admin']].map((scopes) => ({
      name: `${team ?? 'any'} ${scopes}`,
      id: 'x',
      scopes,
      groups: team === undefined && !scopes.includes('admin') ? [] : ['*'],
      repositories: [],
      isInside: true,
      ...(team === undefined ? {} : { teams: [team] }),
    })),
  ),
];

it('everybody who may read a catalog may read each function that it may contain', () => {
  let contained = 0;
  let excluded = 0;
  for (let seed = 0; seed < 1_000; seed++) {
    const rules = randomRules(new Random(seed));
    for (const catalog of CATALOGS) {
      const mayContain = catalogReaders(rules, catalog);
      const readers = ACTORS.filter((actor) => can(rules, actor, 'read', { catalog }).allowed);
      for (const group of GROUPS) {
        for (const kind of KINDS) {
          const blind = readers.filter((actor) => !can(rules, actor, 'read', { group, kind }).allowed);
          const where = `seed ${seed}: ${catalog}, ${group}/${kind}`;
          if (mayContain({ group, kind })) {
            // A token for pushes only reads what its team reads.
            expect(
              blind.map(({ name }) => name).filter((name) => !name.endsWith(' push')),
              where,
            ).toEqual([]);
            contained += 1;
          } else {
            // Nothing is left out without a reader, or a team that gets a token, for whom it is hidden.
            const visibility = rules.visibilityOf(group, kind);
            expect(blind.length > 0 || visibility === 'private', where).toBe(true);
            excluded += 1;
          }
        }
      }
    }
  }
  expect(Math.min(contained, excluded)).toBeGreaterThan(2_000);
});

it('a catalog may contain the same by rules of which the same decides about it', () => {
  let same = 0;
  let different = 0;
  for (let seed = 0; seed < 3_000; seed++) {
    const random = new Random(seed);
    const before = randomRules(random);
    const other = randomRules(random);
    const field = random.pick(['openGroups', 'teams', 'groups', 'catalogs', 'grants'] as const);
    const claims = random
      .some(GROUPS, 0.5)
      .map((group) => ({ group, team: random.pick(TEAMS), proof: 'dns' as const }));
    const after = random.chance(0.5)
      ? new AccessRules(before.document, claims)
      : new AccessRules({ ...before.document, [field]: other.document[field] });
    for (const catalog of CATALOGS) {
      const contents = (rules: AccessRules) => {
        const mayContain = catalogReaders(rules, catalog);
        return GROUPS.flatMap((group) => KINDS.map((kind) => mayContain({ group, kind })));
      };
      if (catalogReaderRules(before, catalog) === catalogReaderRules(after, catalog)) {
        expect(contents(after), `seed ${seed}: ${catalog}`).toEqual(contents(before));
        same += 1;
      } else if (`${contents(after)}` !== `${contents(before)}`) different += 1;
    }
  }
  expect(Math.min(same, different)).toBeGreaterThan(500);
});

it('claims of groups decide about no catalog that is not private', () => {
  const grants = [{ team: 'red', may: ['read' as const], in: { catalog: 'one' } }];
  const teams = [{ name: 'red', members: [] }];
  const groups = [{ pattern: 'b.example.com', visibility: 'private' as const, functions: [] }];
  const catalogs = [{ pattern: 'one', visibility: 'private' as const }];
  const document = { ...NO_ACCESS, teams, groups, catalogs, grants };
  const rulesOf = (group: string, catalog: string) =>
    catalogReaderRules(new AccessRules(document, [{ group, team: 'red', proof: 'dns' }]), catalog);
  const [before, alone] = CATALOGS.map((catalog) => catalogReaderRules(new AccessRules(document), catalog));
  expect([rulesOf('a.example.com', 'one'), rulesOf('b.example.com', 'two')]).toEqual([before, alone]);
  expect(rulesOf('b.example.com', 'one')).not.toBe(before);
});

it('everybody who may change a function may read it', () => {
  let changed = 0;
  const changers = ACTORS.flatMap((actor) => [
    actor,
    { ...actor, groups: [...actor.groups, `${GROUPS[0]}/Split`] },
  ]);
  for (let seed = 0; seed < 1_000; seed++) {
    const rules = randomRules(new Random(seed));
    for (const group of GROUPS) {
      for (const kind of [undefined, ...KINDS]) {
        for (const isNew of [false, true]) {
          const object = { group, isNew, ...defined({ kind }) };
          for (const actor of changers) {
            const action = (['publish', 'yank', 'own'] as const).find(
              (one) => can(rules, actor, one, object).allowed,
            );
            if (action === undefined) continue;
            changed += 1;
            const where = `seed ${seed}: ${actor.name} ${action} ${group}/${kind}`;
            expect(can(rules, actor, 'read', object).allowed, where).toBe(true);
          }
        }
      }
    }
  }
  expect(changed).toBeGreaterThan(10_000);
});
