import { ReasonRequest, type TakedownResult } from '@krmhub/api/model';
import { ROUTES } from '@krmhub/api/routes';
import type { EventStore, SnapshotStore } from '@krmhub/catalog';
import type { FunctionName } from '@krmhub/schema';
import type { Authority } from '../auth/authorize.js';
import { authorize } from '../auth/authorize.js';
import type { CatalogBuilder } from '../catalogs/catalog-builder.js';
import type { DerivedDocuments } from '../derive/derived-documents.js';
import type { RegistryApp } from '../http/context.js';
import { serveRoute } from '../http/endpoint.js';
import { readJsonBody } from '../http/request-body.js';
import type { KeyedMutex } from '../isolation/keyed-mutex.js';
import { functionLockKey } from '../publish/publish-release.js';
import type { FindStore } from '../store/find-record.js';
import { findRelease } from '../store/find-record.js';
import type { TakedownDeps } from '../takedown/takedown.js';
import { finishTakedowns, takeDown } from '../takedown/takedown.js';

/** Deleted bytes cannot be restored, so only administrators may do this. Publishers yank. */
type TakedownRoutesDeps = TakedownDeps &
  Authority & {
    store: FindStore & Pick<SnapshotStore, 'catalog'> & Pick<EventStore, 'lastEvent'>;
    functionLocks: KeyedMutex;
    snapshotBuilder: Pick<CatalogBuilder, 'wake' | 'waitFor'>;
    derived: Pick<DerivedDocuments, 'clear'>;
  };

export function takedownRoutes(app: RegistryApp, deps: TakedownRoutesDeps): void {
  serveRoute(app, ROUTES.takedown, async (c, { params, query: { dryRun } }) => {
    const token = await authorize(c, deps, 'admin');
    const { reason } = await readJsonBody(c, ReasonRequest);
    const record = { at: deps.clock().toISOString(), by: token.name, reason };
    const result = await deps.functionLocks.run(functionLockKey(params), async () => {
      const earlier = (await deps.store.takedowns(params.group, params.kind)).find(
        ({ release }) => release === params.release,
      );
      if (earlier === undefined) return apply(deps, params, record, { dryRun, token: token.id });
      return {
        outcome: 'unchanged' as const,
        takedowns: [earlier],
        blobs: [],
        withdrawn: [],
        repositories: [],
      };
    });
    const response: TakedownResult = { ...result, dryRun, catalogs: [], erased: false };
    if (dryRun) return c.json(response);
    // Builds that were planned earlier are refused now, so nothing they left survives the deletion.
    await deps.snapshotBuilder.waitFor(await deps.store.lastEvent());
    response.catalogs = await newestSnapshots(deps, new Set(result.withdrawn.map(({ catalog }) => catalog)));
    deps.derived.clear();
    response.erased = await finishTakedowns(deps);
    return c.json(response);
  });
}

async function apply(
  deps: TakedownRoutesDeps,
  name: FunctionName & { release: string },
  record: { at: string; by: string; reason: string },
  options: { dryRun: boolean; token: string },
): Promise<Omit<TakedownResult, 'dryRun' | 'catalogs' | 'erased'>> {
  const { release } = await findRelease(deps.store, name);
  const takedown = {
    group: release.group,
    kind: release.kind,
    release: release.release,
    digest: release.digest,
    ...record,
  };
  const { takedowns, reach } = await takeDown(deps, takedown, options);
  if (!options.dryRun) deps.snapshotBuilder.wake();
  const { blobs, withdrawn, repositories } = reach;
  return { outcome: 'taken-down', takedowns, blobs, withdrawn, repositories };
}

async function newestSnapshots(
  { store }: { store: Pick<SnapshotStore, 'catalog'> },
  names: ReadonlySet<string>,
): Promise<TakedownResult['catalogs']> {
  const found: TakedownResult['catalogs'] = [];
  for (const name of names) {
    const newest = (await store.catalog(name))?.newest;
    if (newest === undefined || newest.withdrawn !== undefined) continue;
    found.push({ catalog: name, serial: newest.serial, digest: newest.digests['catalog.yaml'] });
  }
  return found;
}
