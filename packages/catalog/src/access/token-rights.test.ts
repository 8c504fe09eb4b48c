import { matchesGlob } from '@krmhub/schema';
import { Random } from '@krmhub/yaml/testing/random';
import { expect, it } from 'vitest';
import { type Grant, NO_ACCESS } from './access-document.js';
import { AccessRules } from './access-rules.js';
import { can, tokenActor } from './can.js';
import { GROUPS, randomRules, randomToken, TEAMS } from './testing/random-access.js';
import { rightsWithin } from './token-rights.js';

const ACTIONS = ['read', 'publish', 'yank', 'own'] as const;
const ROUNDS = 2_000;

/** Rules by which only teams have rights. */
function closedRules(random: Random): AccessRules {
  const { document, claims } = randomRules(random);
  const groups = document.groups.map((rule) => ({ ...rule, visibility: 'private' as const }));
  const rest = { pattern: '*', visibility: 'private' as const, functions: [] };
  return new AccessRules({ ...document, openGroups: [], groups: [...groups, rest] }, claims);
}

it('are what the token of a team may do, and nothing else', () => {
  const random = new Random(7);
  let [allowed, narrowed] = [0, 0];
  for (let round = 0; round < ROUNDS; round += 1) {
    const rules = closedRules(random);
    const team = random.pick(TEAMS);
    if (rules.team(team) === undefined) continue;
    const { scopes: all, ...rest } = randomToken(random, round);
    const scopes = all.filter((scope) => scope !== 'admin');
    const actor = tokenActor(rules, { ...rest, scopes, team });
    const { owns, grants } = rightsWithin(rules, team, actor);
    if (JSON.stringify({ owns, grants }) !== JSON.stringify(rules.rightsOf(team))) narrowed += 1;
    const permits = (action: (typeof ACTIONS)[number]) =>
      action === 'read' ? scopes.length > 0 : scopes.includes(action === 'own' ? 'publish' : action);
    const covers = (may: Grant['may'], action: (typeof ACTIONS)[number]) =>
      may.includes(action) ||
      (may.includes('own') && permits(action)) ||
      (action === 'read' && may.some((one) => one === 'publish' || one === 'yank'));
    for (const group of GROUPS) {
      // The owner is that of the most specific pattern.
      const isOwn = rules.ownerOf(group)?.team === team && owns.some((glob) => matchesGlob(glob, group));
      for (const action of ACTIONS) {
        const isShown =
          (isOwn && permits(action)) ||
          grants.some(
            ({ may, in: object }) =>
              'group' in object && matchesGlob(object.group, group) && covers(may, action),
          );
        const decision = can(rules, actor, action, { group });
        expect([group, action, isShown], JSON.stringify([rules.document, actor])).toEqual([
          ...[group, action, decision.allowed],
        ]);
        if (isShown) allowed += 1;
      }
    }
  }
  expect(Math.min(allowed, narrowed)).toBeGreaterThan(200);
});

it('are those of the functions, catalogs, and repositories that the token is for', () => {
  const rules = new AccessRules({
    ...{ openGroups: [], teams: [{ name: 'red', members: [] }], catalogs: [], repositories: [] },
    groups: [{ pattern: 'red.example.com', owner: 'red', functions: [] }],
    grants: [
      { team: 'red', may: ['publish'], in: { repository: 'team/*' } },
      { team: 'red', may: ['read'], in: { catalog: '*' } },
      { team: 'red', may: ['audit'], in: { group: '*' } },
    ],
  });
  const token = { scopes: ['read', 'push'], groups: ['red.example.com/SetLabels'] };
  const rights = rightsWithin(rules, 'red', { ...token, repositories: ['team/a', 'catalogs/in-*', '*/b'] });
  expect(rights).toEqual({
    owns: ['red.example.com/SetLabels'],
    grants: [
      { may: ['publish'], in: { repository: 'team/a' } },
      { may: ['publish'], in: { repository: 'team/*/b' } },
      { may: ['publish'], in: { repository: 'team/b' } },
      { may: ['read'], in: { catalog: 'in-*' } },
    ],
  });
});

it('are told up to a limit, whatever the token and its team have', () => {
  const numbers = (count: number) => Array.from({ length: count }, (_, at) => at);
  const rules = new AccessRules({
    ...NO_ACCESS,
    teams: [{ name: 'a', members: [] }],
    groups: numbers(1_000).map((at) => ({ pattern: `*.g${at}.example.com`, owner: 'a', functions: [] })),
    grants: numbers(1_000).map((at) => ({ team: 'a', may: ['read'], in: { group: `*.h${at}.example.com` } })),
  });
  const limits = { scopes: ['read'], groups: numbers(100).map((at) => `x${at}*`), repositories: ['*'] };
  const { owns, grants } = rightsWithin(rules, 'a', limits);
  expect([owns.length, grants.length]).toEqual([1_000, 1_000]);
  expect(owns.slice(0, 2)).toEqual(['x0*.g0.example.com', 'x1*.g0.example.com']);
});
