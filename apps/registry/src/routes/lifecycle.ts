import { ReasonRequest } from '@krmhub/api/model';
import { ROUTES } from '@krmhub/api/routes';
import type { FunctionStore } from '@krmhub/catalog';
import {
  displayedReleaseAfter,
  type LifecycleAction,
  type LifecycleInput,
  type LifecyclePlan,
  planDeprecate,
  planUnyank,
  planYank,
  type ReleaseRecord,
  RevisionConflict,
} from '@krmhub/catalog';
import type { FunctionName } from '@krmhub/schema';
import type { Authority } from '../auth/authorize.js';
import { authorize } from '../auth/authorize.js';
import type { CatalogBuilder } from '../catalogs/catalog-builder.js';
import type { RegistryApp } from '../http/context.js';
import { serveRoute } from '../http/endpoint.js';
import { releaseDetail } from '../http/presentation.js';
import { readJsonBody } from '../http/request-body.js';
import type { KeyedMutex } from '../isolation/keyed-mutex.js';
import { SERVER_LIMITS } from '../limits.js';
import { concurrentUpdate, functionLockKey } from '../publish/publish-release.js';
import type { SigningTrust } from '../publish/signing-trust.js';
import type { FindStore } from '../store/find-record.js';
import { findRelease } from '../store/find-record.js';

const PLANS: Record<LifecycleAction, (input: LifecycleInput) => LifecyclePlan> = {
  yank: planYank,
  unyank: planUnyank,
  deprecate: planDeprecate,
};

/** Yank, unyank and deprecate: the scope `yank` covers all three. */
interface LifecycleDeps extends Authority {
  store: Authority['store'] & FindStore & Pick<FunctionStore, 'commitFunction'>;
  trust: Pick<SigningTrust, 'policies'>;
  functionLocks: KeyedMutex;
  snapshotBuilder: Pick<CatalogBuilder, 'wake'>;
}

export function lifecycleRoutes(app: RegistryApp, deps: LifecycleDeps): void {
  for (const action of ['yank', 'unyank', 'deprecate'] as const) {
    serveRoute(app, ROUTES[action], async (c, { params }) => {
      const { name: by } = await authorize(c, deps, 'yank', params.group);
      const fallback = action === 'unyank' ? { reason: 'unyanked' } : undefined;
      const { reason } = await readJsonBody(c, ReasonRequest, fallback);
      const release = await deps.functionLocks.run(functionLockKey(params), () =>
        setLifecycle(deps, action, params, reason, by),
      );
      return c.json({ ...releaseDetail(deps.trust.policies, release), definition: release.definition });
    });
  }
}

async function setLifecycle(
  { store, clock, snapshotBuilder: builder }: LifecycleDeps,
  action: LifecycleAction,
  name: FunctionName & { release: string },
  reason: string,
  by: string,
): Promise<ReleaseRecord> {
  for (let attempt = 0; attempt < SERVER_LIMITS.planAttempts; attempt++) {
    const { fn, release } = await findRelease(store, name);
    const shownName = displayedReleaseAfter(fn, action, release.release);
    const { release: shown } = await findRelease(store, { ...fn, release: shownName });
    const plan = PLANS[action]({
      current: fn,
      release,
      displayed: shown,
      reason,
      now: clock().toISOString(),
      by,
    });
    if (plan.outcome === 'unchanged') return plan.release;
    try {
      await store.commitFunction(plan.change);
    } catch (error) {
      if (error instanceof RevisionConflict) continue;
      throw error;
    }
    builder.wake();
    return plan.change.release;
  }
  throw concurrentUpdate(name.group, name.kind);
}
