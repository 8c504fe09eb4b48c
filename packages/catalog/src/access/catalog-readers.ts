import type { Digest, FunctionName } from '@krmhub/schema';
import { matchesGlob, sha256 } from '@krmhub/schema';
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

/**
 * Returns what of the rules decides what a catalog may contain: `catalogReaders` answers the same for rules for which
 * this is the same.
 */
export function catalogReaderRules(rules: AccessRules, catalog: string): Digest {
  const readers = rules.catalogVisibility(catalog);
  const { document, claims } = rules;
  const visible = visibleGroups(rules);
  if (readers !== 'private') return sha256(JSON.stringify([readers, visible]));
  const teams = teamsWithGrant(rules, catalog).map(({ name }) => name);
  const isOfTeam = ({ team }: { team: string }) => teams.includes(team);
  return sha256(
    JSON.stringify([
      ...[readers, visible, teams, teams.filter((team) => rules.team(team) !== undefined)],
      document.groups.map(({ owner }) => owner),
      document.grants.filter(isOfTeam),
      // What is not private, its readers may read without a team.
      claims
        .filter((claim) => isOfTeam(claim) && rules.hasPrivate(claim.group))
        .map(({ group, team, proof }) => ({ group, team, proof })),
    ]),
  );
}

/** Many catalogs are built by the same rules. */
const known = new WeakMap<AccessRules, Digest>();

function visibleGroups(rules: AccessRules): Digest {
  const found = known.get(rules);
  if (found !== undefined) return found;
  const { groups } = rules.document;
  const visible = groups.map(({ pattern, visibility, functions }) => [pattern, visibility, functions]);
  const digest = sha256(JSON.stringify(visible));
  known.set(rules, digest);
  return digest;
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
