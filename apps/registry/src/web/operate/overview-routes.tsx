import { createRoute } from '@hono/zod-openapi';
import { sourceDetail } from '../../http/presentation.js';
import { readinessChecks } from '../../server/readiness.js';
import { OPERATE } from '../addresses.js';
import type { WebDeps } from '../web-routes.js';
import type { OperatorPages } from './operator-pages.js';
import { OverviewPage } from './overview-page.js';

export const OVERVIEW_ROUTES = {
  operatePage: createRoute({
    method: 'get',
    path: OPERATE,
    responses: { 200: { description: 'Status of the registry' } },
  }),
} as const;

export function overviewRoutes(parts: WebDeps, pages: OperatorPages): void {
  const { store, snapshotBuilder: cutter } = parts;
  const readiness = readinessChecks(parts);

  pages.page(OVERVIEW_ROUTES.operatePage, {}, async () => {
    const overview = {
      readiness: await readiness(),
      failing: cutter.status().failing,
      sources: (await store.sources()).map(sourceDetail),
      catalogs: (await store.catalogs()).length,
    };
    return { head: { title: 'Operate', path: OPERATE }, body: <OverviewPage overview={overview} /> };
  });
}
