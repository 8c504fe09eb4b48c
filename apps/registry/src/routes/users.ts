import { ROUTES } from '@krmhub/api/routes';
import type { Authority } from '../http/auth/authorize.js';
import { authorize } from '../http/auth/authorize.js';
import { callerOf } from '../http/auth/caller.js';
import type { RegistryApp } from '../http/context.js';
import { serveRoute } from '../http/endpoint.js';
import { listUsers, readUser, restoreUser, suspendUser, type UserDeps } from '../users/manage-users.js';

const NO_STORE = { 'Cache-Control': 'no-store' };

type UserRoutesDeps = UserDeps & Authority & { store: UserDeps['store'] & Authority['store'] };

/** Serves the users to administrators. */
export function userRoutes(app: RegistryApp, deps: UserRoutesDeps): void {
  serveRoute(app, ROUTES.users, async (c, { query }) => {
    await authorize(c, deps, 'admin');
    return c.json(await listUsers(deps, query), 200, NO_STORE);
  });

  serveRoute(app, ROUTES.user, async (c, { params: { id } }) => {
    await authorize(c, deps, 'admin');
    return c.json(await readUser(deps, id), 200, NO_STORE);
  });

  serveRoute(app, ROUTES.suspendUser, async (c, { params: { id } }) => {
    const token = await authorize(c, deps, 'admin');
    const by = { ...callerOf(c, token), user: token.user?.id };
    return c.json(await suspendUser(deps, id, by), 200, NO_STORE);
  });

  serveRoute(app, ROUTES.restoreUser, async (c, { params: { id } }) => {
    const caller = callerOf(c, await authorize(c, deps, 'admin'));
    return c.json(await restoreUser(deps, id, caller), 200, NO_STORE);
  });
}
