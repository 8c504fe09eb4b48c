import type { Owner } from '@krmhub/api/owner-model';
import { defined } from '@krmhub/schema/defined';

/** A team, and the groups that it owns. */
export interface TeamView {
  team: string;
  /** Without one, the name. */
  displayName: string;
  contact?: string;
  /** By name; a pattern of groups is one item. */
  groups: readonly Owner[];
}

/** Returns the teams that own groups, by name. */
export function ownersByTeam(owners: readonly Owner[]): TeamView[] {
  const teams = new Map<string, Owner[]>();
  for (const owner of owners) {
    const known = teams.get(owner.team);
    if (known === undefined) teams.set(owner.team, [owner]);
    else known.push(owner);
  }
  return [...teams]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([team, groups]) => ({
      team,
      displayName: groups[0]?.displayName || team,
      groups,
      ...defined({ contact: groups[0]?.contact }),
    }));
}
