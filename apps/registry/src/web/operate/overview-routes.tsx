import { createRoute } from '@hono/zod-openapi';
import type { Readiness } from '@krmhub/api/model';
import type { CatalogReader, SourceReader } from '@krmhub/catalog';
import type { ObservableBuilder } from '../../catalogs/build/catalog-builder.js';
import type { KnownAccess } from '../../http/auth/request-actor.js';
import { sourceDetail } from '../../http/presentation.js';
import { OPERATE } from '../addresses.js';
import type { OperatorPages } from './operator-pages.js';
import { OverviewPage } from './overview-page.js';

export const OVERVIEW_ROUTES = {
  operatePage: createRoute({
    method: 'get',
    path: OPERATE,
    responses: { 200: { description: 'Status of the registry' } },
  }),
} as const;

export interface OverviewDeps {
  store: SourceReader & CatalogReader;
  snapshotBuilder: ObservableBuilder;
  access: KnownAccess;
  readiness: () => Promise<Readiness>;
}

export function overviewRoutes(deps: OverviewDeps, pages: OperatorPages): void {
  const { store, snapshotBuilder: builder } = deps;

  pages.page(OVERVIEW_ROUTES.operatePage, {}, async () => {
    const catalogs = (await store.catalogs()).map(({ name }) => name);
    const overview = {
      readiness: await deps.readiness(),
      failing: builder.status().failing.filter(({ catalog }) => catalogs.includes(catalog)),
      sources: (await store.sources()).map(sourceDetail),
      catalogs: catalogs.length,
      rules: deps.access.rules,
    };
    return { head: { title: 'Operate', path: OPERATE }, body: <OverviewPage overview={overview} /> };
  });
}
