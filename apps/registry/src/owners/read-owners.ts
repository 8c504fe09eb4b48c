import type { Owner } from '@krmhub/api/owner-model';
import {
  type AccessRules,
  can,
  type Owner as GroupOwner,
  type OwnerClaimReader,
  type OwnerClaimRecord,
} from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import { currentActor, type KnownAccess } from '../http/auth/request-actor.js';

export interface OwnerReaderDeps {
  store: OwnerClaimReader;
  access: KnownAccess;
}

/**
 * Returns the owners of the groups that the current actor may read, by group. The Access document counts before claims.
 * A pattern is readable like a group of that name.
 */
export async function readOwners({ store, access: { rules } }: OwnerReaderDeps): Promise<Owner[]> {
  const claims = await store.ownerClaims();
  const actor = currentActor();
  const declared = rules.document.groups.flatMap(({ pattern, owner }) =>
    owner === undefined ? [] : [ownerDetail(rules, { group: pattern, team: owner, proof: 'administrator' })],
  );
  const proven = claims
    .filter(({ group }) => rules.ownerOf(group)?.proof !== 'administrator')
    .map((claim) => ownerDetail(rules, claim));
  return [...declared, ...proven]
    .filter(({ group }) => can(rules, actor, 'read', { group }).allowed)
    .sort((a, b) => (a.group < b.group ? -1 : a.group > b.group ? 1 : 0));
}

/** Describes the owner of a group. */
export function ownerDetail(
  rules: AccessRules,
  claim: Pick<GroupOwner, 'team' | 'proof'> & { group: string } & Partial<Omit<OwnerClaimRecord, 'proof'>>,
): Owner {
  const { group, team, proof, claimedAt, claimedBy, checkedAt, missingSince, problem } = claim;
  const known = rules.team(team);
  const { displayName, contact } = known ?? {};
  return {
    ...{ group, team, proof },
    ...defined({ displayName, contact, claimedAt, claimedBy, checkedAt, missingSince, problem }),
  };
}
