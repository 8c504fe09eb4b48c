import { type ApplyResult, type CatalogList, ReasonRequest, type RestoreResult } from '@krmhub/api/model';
import { fillPath } from '@krmhub/api/paths';
import { ROUTES } from '@krmhub/api/routes';
import type { AuditStore, CatalogReader, EventStore, SourceReader } from '@krmhub/catalog';
import { DEFAULT_RECIPE_TEXT, RECIPE_LIMITS } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { ApplyRecipeDeps, StoreRecipeDeps } from '../catalogs/apply-recipe.js';
import {
  applyRecipe,
  checkRecipe,
  DEFAULT_CATALOG,
  refuseBuiltIn,
  storeRecipe,
} from '../catalogs/apply-recipe.js';
import type { CatalogBuilder } from '../catalogs/build/catalog-builder.js';
import { catalogDetail } from '../catalogs/catalog-detail.js';
import type { DeleteCatalogDeps } from '../catalogs/delete-catalog.js';
import { deleteCatalog, restoreCatalog } from '../catalogs/delete-catalog.js';
import { storedRecipe } from '../catalogs/stored-recipe.js';
import type { Authority } from '../http/auth/authorize.js';
import { authorize, recheckToken } from '../http/auth/authorize.js';
import { callerOf, REGISTRY } from '../http/auth/caller.js';
import type { RegistryApp } from '../http/context.js';
import { serveRoute } from '../http/endpoint.js';
import type { PublicAddress } from '../http/public-address.js';
import { publicAddress } from '../http/public-address.js';
import { readJsonBody, readYamlBody } from '../http/request-body.js';
import { SERVER_LIMITS } from '../limits.js';
import { findCatalog } from '../store/find-record.js';
import type { CatalogRefresher } from '../upstreams/catalog-refresher.js';

type CatalogDeps = Authority &
  ApplyRecipeDeps &
  DeleteCatalogDeps & {
    store: CatalogReader & SourceReader & EventStore & AuditStore;
    refresher: CatalogRefresher;
    snapshotBuilder: CatalogBuilder;
    config: PublicAddress;
  };

export function catalogRoutes(app: RegistryApp, deps: CatalogDeps): void {
  const { store, snapshotBuilder: builder } = deps;

  serveRoute(app, ROUTES.catalogs, async (c) => {
    const deleted = await store.deletedCatalogs();
    const result: CatalogList = {
      catalogs: (await store.catalogs()).map((catalog) => catalogDetail(deps, catalog)),
      ...defined({ deleted: deleted.length === 0 ? undefined : deleted }),
    };
    return c.json(result);
  });

  serveRoute(app, ROUTES.catalog, async (c, { params }) =>
    c.json(catalogDetail(deps, await findCatalog(store, params.name))),
  );

  serveRoute(app, ROUTES.applyCatalog, async (c, { params: { name } }) => {
    const caller = callerOf(c, await authorize(c, deps, 'admin'));
    refuseBuiltIn(name);
    const bytes = await readYamlBody(c, RECIPE_LIMITS.maxBytes, {
      what: 'A recipe',
      hint: 'Send it as application/yaml.',
    });
    const { diagnostics, ...given } = await checkRecipe(deps.planner, bytes, name);
    await recheckToken(c)('if-old');
    const outcome = await applyRecipe(deps, given, caller);
    const result: ApplyResult = {
      outcome,
      catalog: catalogDetail(deps, await findCatalog(store, name)),
      diagnostics,
    };
    if (outcome !== 'created') return c.json(result);
    return c.json(result, 201, { Location: publicAddress(deps.config, fillPath('catalog', { name })) });
  });

  serveRoute(app, ROUTES.deleteCatalog, async (c, { params: { name } }) => {
    const caller = callerOf(c, await authorize(c, deps, 'admin'));
    const { reason } = await readJsonBody(c, ReasonRequest);
    const tombstone = await deleteCatalog(deps, name, { reason, ...caller });
    // Search excludes its entries after this pass.
    builder.wake();
    await builder.waitFor({ event: await store.lastEvent() });
    return c.json(tombstone);
  });

  serveRoute(app, ROUTES.restoreCatalog, async (c, { params: { name } }) => {
    const caller = callerOf(c, await authorize(c, deps, 'admin'));
    const outcome = await restoreCatalog(deps, name, caller);
    deps.refresher.wake();
    builder.wake();
    await builder.waitFor({ event: await store.lastEvent() });
    const result: RestoreResult = { outcome, catalog: catalogDetail(deps, await findCatalog(store, name)) };
    return c.json(result);
  });

  serveRoute(app, ROUTES.cut, async (c, { params: { name } }) => {
    const caller = callerOf(c, await authorize(c, deps, 'admin'));
    await findCatalog(store, name);
    const act = { ...caller, at: deps.clock().toISOString(), action: 'catalog.build' as const };
    await store.recordAct({ ...act, object: `catalog/${name}`, outcome: 'done' });
    try {
      await waitUntilSynced(deps, name);
      await builder.buildNow({ name });
    } catch (error) {
      // Rejects with `gone` for a catalog that was deleted meanwhile.
      await findCatalog(store, name);
      throw error;
    }
    return c.json(catalogDetail(deps, await findCatalog(store, name)));
  });
}

/** Waits until every source of a catalog was synced once. Rejects with `unavailable` if that takes too long. */
async function waitUntilSynced({ store, refresher }: CatalogDeps, name: string): Promise<void> {
  const unasked = (await store.sources(name)).some(({ checkedAt }) => checkedAt === undefined);
  const milliseconds = SERVER_LIMITS.sourceWaitMilliseconds;
  if (!unasked || (await refresher.waitFor({ catalog: name, milliseconds }))) return;
  throw new KrmhubError('unavailable', `catalog ${name}: sources are still syncing`, {
    hint: 'Try again later.',
  });
}

/** Creates the catalog `default`, or updates its recipe if another version of the program wrote it. */
export async function ensureDefaultCatalog(deps: StoreRecipeDeps): Promise<void> {
  const recipe = storedRecipe({ name: DEFAULT_CATALOG, recipe: DEFAULT_RECIPE_TEXT });
  await storeRecipe(deps, { text: DEFAULT_RECIPE_TEXT, recipe }, REGISTRY);
}
