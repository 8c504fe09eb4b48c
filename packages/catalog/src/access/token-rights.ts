import { sharedGlobs } from '@krmhub/schema';
import { type Grant, type GrantObject, ROLES } from './access-document.js';
import type { AccessRules } from './access-rules.js';
import { readsForTeam, type TokenLimits } from './can.js';

/** Groups, and grants, that a token is told: it can have many limits, and its team many groups. */
const MAX_TOLD = 1_000;

/** Returns what a team lets one of its tokens do: what the team owns and may, within the limits of the token. */
export function rightsWithin(
  rules: AccessRules,
  team: string,
  limits: TokenLimits,
): { owns: string[]; grants: Omit<Grant, 'team'>[] } {
  const { owns, grants } = rules.rightsOf(team);
  return {
    owns: firstOf(owns, (pattern) => sharedGroups(pattern, limits)),
    grants: firstOf(grants, (grant) => {
      const may = permitted(grant, limits);
      return may.length === 0 ? [] : sharedObjects(grant.in, limits).map((object) => ({ may, in: object }));
    }),
  };
}

function firstOf<Given, Made>(all: readonly Given[], make: (one: Given) => readonly Made[]): Made[] {
  const made: Made[] = [];
  for (const one of all) {
    made.push(...make(one));
    if (made.length >= MAX_TOLD) break;
  }
  return made.slice(0, MAX_TOLD);
}

/** Returns what of a grant the scopes of a token permit: a token that may change something may also read it. */
function permitted({ may, in: object }: Omit<Grant, 'team'>, { scopes }: TokenLimits): Grant['may'] {
  const permits = (action: Grant['may'][number]): boolean => {
    if (action === 'read') return readsForTeam(scopes);
    if (!('group' in object)) return scopes.includes('push');
    return scopes.includes(action === 'own' ? 'publish' : action);
  };
  const all = may.includes('own') && !permits('own') ? (['yank', 'own'] as const) : may;
  const found = all.filter(permits);
  const isRole = all.every((action) => (ROLES as readonly string[]).includes(action));
  return found.length === 0 && !isRole && permits('read') ? ['read'] : found;
}

function sharedObjects(object: GrantObject, limits: TokenLimits): GrantObject[] {
  if ('group' in object) return sharedGroups(object.group, limits).map((group) => ({ group }));
  const { groups, repositories } = limits;
  if ('repository' in object)
    return shared(object.repository, repositories).map((repository) => ({ repository }));
  // A token that is not for every group must name the catalog.
  const named = groups.includes('*')
    ? repositories
    : repositories.filter((glob) => glob.startsWith(CATALOGS));
  return shared(`${CATALOGS}${object.catalog}`, named).map((glob) => ({
    catalog: glob.slice(CATALOGS.length),
  }));
}

const CATALOGS = 'catalogs/';

/** A token can be for single functions of a group. */
function sharedGroups(pattern: string, { groups }: TokenLimits): string[] {
  return groups.flatMap((glob) => {
    const [group = '', kind] = glob.split('/');
    const found = sharedGlobs(pattern, group);
    return kind === undefined ? found : found.map((one) => `${one}/${kind}`);
  });
}

function shared(pattern: string, globs: readonly string[]): string[] {
  return globs.flatMap((glob) => sharedGlobs(pattern, glob));
}
