import { DeprecateRequest, ReasonRequest } from '@krmhub/api/model';
import { ROUTES } from '@krmhub/api/routes';
import type { LifecycleAction, ReleaseRecord, TokenRecord } from '@krmhub/catalog';
import { type FunctionName, replacementReason } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { Authority } from '../http/auth/authorize.js';
import { authenticate, recheckRight, recheckToken } from '../http/auth/authorize.js';
import { type Caller, callerOf } from '../http/auth/caller.js';
import { changeOfRelease, refuseToYank } from '../http/auth/yank-right.js';
import type { RegistryApp, RegistryContext } from '../http/context.js';
import { serveRoute } from '../http/endpoint.js';
import { releaseDetail } from '../http/presentation.js';
import { readJsonBody } from '../http/request-body.js';
import type { LifecycleRequest, LifecycleDeps as SetLifecycleDeps } from '../publish/set-lifecycle.js';
import { setLifecycle } from '../publish/set-lifecycle.js';
import type { SigningTrust } from '../publish/trust/signing-trust.js';

/** Yank, deprecate, and their opposites: the scope `yank` covers all of them. */
type LifecycleDeps = Authority &
  SetLifecycleDeps & {
    store: Authority['store'] & SetLifecycleDeps['store'];
    trust: SigningTrust;
  };

/** The reasons of actions that need none. */
const FALLBACKS: Partial<Record<LifecycleAction, string>> = {
  unyank: 'unyanked',
  undeprecate: 'undeprecated',
};

export function lifecycleRoutes(app: RegistryApp, deps: LifecycleDeps): void {
  const respond = (c: RegistryContext, release: ReleaseRecord) =>
    c.json({ ...releaseDetail(deps, release), definition: release.definition });

  const authorizeYank = async (c: RegistryContext, name: FunctionName): Promise<Caller> => {
    const token = await authenticate(c, deps);
    const refuse = (record: TokenRecord) => refuseToYank(c, deps.access.rules, record, name);
    refuse(token);
    recheckRight(c, refuse);
    return callerOf(c, token);
  };

  const change = (
    c: RegistryContext,
    ...[action, name, request]: [LifecycleAction, FunctionName & { release: string }, LifecycleRequest]
  ) => changeOfRelease(c, deps.store, name, () => setLifecycle(deps, action, name, request));

  for (const action of ['yank', 'unyank', 'undeprecate'] as const) {
    serveRoute(app, ROUTES[action], async (c, { params }) => {
      const caller = await authorizeYank(c, params);
      const fallback = FALLBACKS[action];
      const { reason } = await readJsonBody(
        c,
        ReasonRequest,
        fallback === undefined ? undefined : { reason: fallback },
      );
      const request = { reason, ...caller, recheck: recheckToken(c) };
      return respond(c, await change(c, action, params, request));
    });
  }

  serveRoute(app, ROUTES.deprecate, async (c, { params }) => {
    const caller = await authorizeYank(c, params);
    const { reason, replacement } = await readJsonBody(c, DeprecateRequest);
    const request = {
      reason: reason ?? replacementReason(replacement!),
      ...defined({ replacement }),
      ...caller,
      recheck: recheckToken(c),
    };
    return respond(c, await change(c, 'deprecate', params, request));
  });
}
