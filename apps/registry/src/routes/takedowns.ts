import { TakedownRequest } from '@krmhub/api/model';
import { ROUTES } from '@krmhub/api/routes';
import type { Authority } from '../http/auth/authorize.js';
import { authorize, recheckToken } from '../http/auth/authorize.js';
import { callerOf } from '../http/auth/caller.js';
import type { RegistryApp } from '../http/context.js';
import { serveRoute } from '../http/endpoint.js';
import { readJsonBody } from '../http/request-body.js';
import type { TakeDownReleaseDeps } from '../publish/takedown/take-down-release.js';
import { takeDownRelease } from '../publish/takedown/take-down-release.js';

/** Deleted bytes cannot be restored, so only administrators may do this. Publishers yank. */
export function takedownRoutes(app: RegistryApp, deps: TakeDownReleaseDeps & Authority): void {
  serveRoute(app, ROUTES.takedown, async (c, { params, query: { dryRun } }) => {
    const caller = callerOf(c, await authorize(c, deps, 'admin'));
    const { reason, runtimes } = await readJsonBody(c, TakedownRequest);
    const request = { reason, runtimes, dryRun, ...caller, recheck: recheckToken(c) };
    return c.json(await takeDownRelease(deps, params, request));
  });
}
