import { ClaimRequest, type OwnerList, type VerifiedOwner } from '@krmhub/api/owner-model';
import { ROUTES } from '@krmhub/api/routes';
import type { ActRecorder } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import {
  type Authority,
  authenticate,
  authorize,
  latestToken,
  recheckToken,
} from '../http/auth/authorize.js';
import { callerOf } from '../http/auth/caller.js';
import type { RegistryApp } from '../http/context.js';
import { serveRoute } from '../http/endpoint.js';
import { readJsonBody } from '../http/request-body.js';
import {
  claimGroup,
  type OwnerClaimDeps,
  releaseGroup,
  requireClaim,
  verifyClaim,
} from '../owners/owner-claims.js';
import { ownerDetail, readOwners } from '../owners/read-owners.js';

/** Routes of owners. Who owns a group is for everybody who may read the group. */
export function ownerRoutes(
  app: RegistryApp,
  deps: OwnerClaimDeps & Authority & { store: ActRecorder },
): void {
  serveRoute(app, ROUTES.owners, async (c) => {
    const result: OwnerList = { owners: await readOwners(deps) };
    return c.json(result);
  });

  serveRoute(app, ROUTES.claimGroup, async (c, { params: { group } }) => {
    const first = await authenticate(c, deps);
    const wanted = await readJsonBody(c, ClaimRequest);
    const token = latestToken(c, first);
    const { origin } = callerOf(c, token);
    const claim = await claimGroup(deps, { group, ...wanted }, token, {
      origin,
      recheck: async () => {
        await recheckToken(c)();
        return latestToken(c, token);
      },
    });
    return c.json(ownerDetail(deps.access.rules, claim));
  });

  serveRoute(app, ROUTES.verifyOwner, async (c, { params: { group } }) => {
    const caller = callerOf(c, await authorize(c, deps, 'publish', group));
    // Its row says that it was looked for.
    await requireClaim(deps, group);
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
