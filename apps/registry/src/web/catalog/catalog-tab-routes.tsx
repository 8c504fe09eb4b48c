import { createRoute, z } from '@hono/zod-openapi';
import { CatalogName } from '@krmhub/api/parameters';
import type { SnapshotStore } from '@krmhub/catalog';
import type { Child } from 'hono/jsx';
import type { RegistryApp, RegistryContext } from '../../http/context.js';
import { type CatalogTab, catalogFeedPath, catalogTabPath } from '../addresses.js';
import { pageResponse } from '../page-response.js';
import { servePage } from '../serve-page.js';
import type { Site } from '../site.js';
import type { CachedCounts, CatalogCounts } from './cached-counts.js';
import { HistoryTab, RecipeTab, SourcesTab, TrustTab } from './catalog-page.js';
import {
  type CatalogView,
  type ReadCatalogDeps,
  type ReadSignatureDeps,
  readCatalog,
  readSigning,
} from './read-catalog.js';
import { snapshotRows } from './snapshot-rows.js';

const params = z.object({ name: CatalogName });
const page = { 200: { description: 'A page' } };

const tabRoute = (tab: CatalogTab) =>
  createRoute({ method: 'get', path: `/catalogs/{name}/${tab}`, request: { params }, responses: page });

/** Tabs of a catalog besides its functions and its report. */
export const CATALOG_TAB_ROUTES = {
  sourcesPage: tabRoute('sources'),
  trustPage: tabRoute('trust'),
  recipePage: tabRoute('recipe'),
  historyPage: createRoute({
    method: 'get',
    path: '/catalogs/{name}/history',
    request: {
      params,
      query: z.object({
        before: z
          .string()
          .regex(/^[1-9]\d{0,14}$/, 'is not a serial')
          .transform(Number)
          .optional(),
      }),
    },
    responses: page,
  }),
} as const;

type CatalogTabDeps = ReadCatalogDeps & ReadSignatureDeps & { store: SnapshotStore; site: Site };

export function catalogTabRoutes(app: RegistryApp, deps: CatalogTabDeps, counts: CachedCounts): void {
  const { store, site } = deps;
  const { pageBefore } = snapshotRows(store, counts);

  const tabResponse = async (
    c: RegistryContext,
    name: string,
    { tab, title, isIndexed = true }: { tab: CatalogTab; title: string; isIndexed?: boolean },
    body: (props: { view: CatalogView; counts: CatalogCounts }) => Promise<Child>,
  ) => {
    const view = await readCatalog(deps, name);
    return pageResponse(c, site, {
      head: {
        title: `${title} of ${name}`,
        description: `The ${title.toLowerCase()} of the catalog ${name}.`,
        path: catalogTabPath(name, tab),
        section: 'catalogs',
        isIndexed,
        feeds: [catalogFeed(name)],
      },
      body: await body({ view, counts: await counts.catalogCounts(view.catalog) }),
    });
  };

  servePage(app, CATALOG_TAB_ROUTES.sourcesPage, {}, (c, { params: { name } }) =>
    tabResponse(c, name, { tab: 'sources', title: 'Sources' }, async (props) => <SourcesTab {...props} />),
  );
  servePage(app, CATALOG_TAB_ROUTES.trustPage, {}, (c, { params: { name } }) =>
    tabResponse(c, name, { tab: 'trust', title: 'Signature' }, async (props) => {
      const { newest } = props.view.catalog;
      return (
        <TrustTab
          {...props}
          signing={newest === undefined ? { keys: [] } : await readSigning(deps, newest)}
        />
      );
    }),
  );
  servePage(app, CATALOG_TAB_ROUTES.recipePage, {}, (c, { params: { name } }) =>
    tabResponse(c, name, { tab: 'recipe', title: 'Recipe' }, async (props) => <RecipeTab {...props} />),
  );
  servePage(app, CATALOG_TAB_ROUTES.historyPage, {}, (c, { params: { name }, query: { before } }) =>
    tabResponse(
      c,
      name,
      { tab: 'history', title: 'Snapshots', isIndexed: before === undefined },
      async (props) => <HistoryTab {...props} page={await pageBefore(props.view.catalog, before)} />,
    ),
  );
}

export function catalogFeed(name: string): { title: string; path: string } {
  return { title: `Snapshots of ${name}`, path: catalogFeedPath(name) };
}
