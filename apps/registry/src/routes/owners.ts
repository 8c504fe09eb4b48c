import { ClaimRequest, type Owner, type OwnerList, type VerifiedOwner } from '@krmhub/api/owner-model';
import { ROUTES } from '@krmhub/api/routes';
import type { AccessRules, AuditStore, Owner as GroupOwner, OwnerClaimRecord } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import { type Authority, authenticate, authorize } from '../http/auth/authorize.js';
import { callerOf } from '../http/auth/caller.js';
import type { RegistryApp } from '../http/context.js';
import { serveRoute } from '../http/endpoint.js';
import { readJsonBody } from '../http/request-body.js';
import { claimGroup, type OwnerClaimDeps, releaseGroup, verifyClaim } from '../owners/owner-claims.js';

/** Routes of owners. Who owns a group is public, whether or not its functions are. */
export function ownerRoutes(
  app: RegistryApp,
  deps: OwnerClaimDeps & Authority & { store: Pick<AuditStore, 'recordAct'> },
): void {
  serveRoute(app, ROUTES.owners, async (c) => {
    const result: OwnerList = { owners: listOwners(deps.access.rules, await deps.store.ownerClaims()) };
    return c.json(result);
  });

  serveRoute(app, ROUTES.claimGroup, async (c, { params: { group } }) => {
    const token = await authenticate(c, deps);
    const wanted = await readJsonBody(c, ClaimRequest);
    const { origin } = callerOf(c, token);
    const claim = await claimGroup(deps, { group, ...wanted }, token, origin);
    return c.json(ownerDetail(deps.access.rules, claim));
  });

  serveRoute(app, ROUTES.verifyOwner, async (c, { params: { group } }) => {
    const caller = callerOf(c, await authorize(c, deps, 'publish', group));
    const act = { ...caller, at: deps.clock().toISOString(), action: 'owner.verify' as const };
    await deps.store.recordAct({ ...act, object: `group/${group}`, outcome: 'done' });
    const claim = await verifyClaim(deps, group);
    const result: VerifiedOwner = {
      outcome: claim === undefined ? 'ended' : claim.missingSince === undefined ? 'verified' : 'missing',
      ...defined({ owner: claim && ownerDetail(deps.access.rules, claim) }),
    };
    return c.json(result);
  });

  serveRoute(app, ROUTES.releaseGroup, async (c, { params: { group } }) => {
    const token = await authenticate(c, deps);
    await releaseGroup(deps, group, token, callerOf(c, token).origin);
    return c.body(null, 204);
  });
}

/** Owners by the Access document first, because they count before claims. */
function listOwners(rules: AccessRules, claims: readonly OwnerClaimRecord[]): Owner[] {
  const declared = rules.document.groups.flatMap(({ pattern, owner }) =>
    owner === undefined ? [] : [ownerDetail(rules, { group: pattern, team: owner, proof: 'administrator' })],
  );
  const proven = claims
    .filter(({ group }) => rules.ownerOf(group)?.proof !== 'administrator')
    .map((claim) => ownerDetail(rules, claim));
  return [...declared, ...proven].sort((a, b) => (a.group < b.group ? -1 : a.group > b.group ? 1 : 0));
}

function ownerDetail(
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
