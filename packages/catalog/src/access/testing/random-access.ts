/**
 * Random Access documents, tokens, and users, for tests.
 *
 * @module
 */

import { defined } from '@krmhub/schema/defined';
import type { Random } from '@krmhub/yaml/testing/random';
import { type AccessDocument, GRANTED_ACTIONS, type Grant, ROLES, VISIBILITIES } from '../access-document.js';
import { AccessRules, type OwnerClaim } from '../access-rules.js';
import type { ActingToken } from '../can.js';

export const GROUPS = ['a.example.com', 'b.example.com', 'c.test', 'd.test'];
export const GROUP_PATTERNS = [...GROUPS, '*', '*.example.com', '*.test', 'a.*'];
export const CATALOGS = ['default', 'in-house', 'in-*', '*'];
export const REPOSITORIES = ['team/base', 'team/*', 'other', '*'];
export const TEAMS = ['red', 'green', 'blue'];
export const KINDS = ['SetLabels', 'Secret'];
export const ISSUER = 'https://sso.example.com';
export const SSO_GROUPS = ['one', 'two'];

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

export function randomRules(random: Random, previous?: AccessRules): AccessRules {
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
      ...defined({
        owner: random.chance(0.5) ? random.pick(names) : undefined,
        visibility: random.chance(0.5) ? random.pick(VISIBILITIES) : undefined,
      }),
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

export function randomToken(random: Random, at: number): ActingToken {
  const scopes = random.some(['read', 'publish', 'yank', 'push', 'admin'], 0.5);
  return {
    name: `token ${at}`,
    id: `id-${at}`,
    scopes,
    groups: random.chance(0.4) ? ['*'] : random.some(GROUP_PATTERNS, 0.3),
    repositories: random.chance(0.4) ? ['*'] : random.some(REPOSITORIES, 0.5),
    ...defined({ team: random.chance(0.5) ? random.pick(TEAMS) : undefined }),
  };
}

export function randomUser(random: Random, at: number) {
  const groups = random.some(SSO_GROUPS, 0.5);
  return { id: `id-${at}`, name: `user ${at}`, issuer: ISSUER, subject: `s${at}`, groups };
}
