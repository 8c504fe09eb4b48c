import { AccessCheck, type AccessDetail } from '@krmhub/api/model';
import { ROUTES } from '@krmhub/api/routes';
import { ACCESS_LIMITS } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import { type Authority, authorize, recheckToken } from '../http/auth/authorize.js';
import { callerOf } from '../http/auth/caller.js';
import type { RegistryApp } from '../http/context.js';
import { serveRoute } from '../http/endpoint.js';
import { readJsonBody, readYamlBody } from '../http/request-body.js';
import { type ApplyAccessDeps, applyAccess, readAccessBytes } from '../publish/apply-access.js';
import { checkAccess } from '../publish/check-access.js';

/** Only administrators read the document: it names what is private. */
const NO_STORE = { 'Cache-Control': 'no-store' };

/** Routes of the Access document. */
export function accessRoutes(app: RegistryApp, deps: ApplyAccessDeps & Authority): void {
  serveRoute(app, ROUTES.access, async (c) => {
    await authorize(c, deps, 'admin');
    const stored = await deps.store.access();
    const result: AccessDetail = {
      text: stored?.text ?? '',
      revision: stored?.revision ?? 0,
      ...defined({ appliedAt: stored?.appliedAt, appliedBy: stored?.appliedBy }),
    };
    return c.json(result, 200, NO_STORE);
  });

  serveRoute(app, ROUTES.applyAccess, async (c, { query }) => {
    const caller = callerOf(c, await authorize(c, deps, 'admin'));
    const bytes = await readYamlBody(c, ACCESS_LIMITS.maxBytes, {
      what: 'an Access document',
      hint: 'Send it as application/yaml.',
    });
    const { diagnostics, ...document } = readAccessBytes(bytes);
    const options = { ...caller, ...query, recheck: recheckToken(c) };
    const result = await applyAccess(deps, document, options);
    return c.json({ ...result, diagnostics }, 200, NO_STORE);
  });

  serveRoute(app, ROUTES.checkAccess, async (c) => {
    await authorize(c, deps, 'admin');
    return c.json(await checkAccess(deps, await readJsonBody(c, AccessCheck)), 200, NO_STORE);
  });
}
