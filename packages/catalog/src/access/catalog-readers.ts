import type { FunctionName } from '@krmhub/schema';
import { matchesGlob } from '@krmhub/schema';
import type { AccessRules } from './access-rules.js';
import { type Actor, can } from './can.js';

/**
 * Returns whether a catalog may contain a function: everybody who may read the catalog must be able to read the
 * function too. A token that names a private catalog reads what the teams with a grant on the catalog may read.
 */
export function catalogReaders(rules: AccessRules, catalog: string): (name: FunctionName) => boolean {
  const readers = rules.catalogVisibility(catalog);
  const teams = readers === 'private' ? teamsWithGrant(rules, catalog) : [];
  return ({ group, kind }) => {
    const needed = rules.visibilityOf(group, kind);
    if (needed === 'public') return true;
    if (needed === 'internal') return readers !== 'public';
    return readers === 'private' && teams.every((team) => can(rules, team, 'read', { group, kind }).allowed);
  };
}

/** Returns each team that may read a private catalog, with its full rights. */
function teamsWithGrant({ document }: AccessRules, catalog: string): Actor[] {
  const names = document.grants.flatMap(({ team, in: target }) =>
    'catalog' in target && matchesGlob(target.catalog, catalog) ? [team] : [],
  );
  return [...new Set(names)].map((team) => ({
    name: team,
    teams: [team],
    scopes: ['read'],
    groups: ['*'],
    repositories: ['*'],
    isInside: true,
  }));
}
