/**
 * The first page of a registry.
 *
 * @module
 */

import type { RouteConfig } from '@hono/zod-openapi';
import type { CatalogReader, SearchResult, SearchStore } from '@krmhub/catalog';
import type { FunctionName } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { readyRecipes } from '@krmhub/sources/ready-recipes';
import type { RegistryApp, RegistryContext } from '../../http/context.js';
import { searchItem } from '../../http/presentation.js';
import type { SigningTrust } from '../../publish/trust/signing-trust.js';
import { acceptsPage } from '../accepts-page.js';
import { pageResponse } from '../page-response.js';
import { asVisitor } from '../serve-page.js';
import type { Site } from '../site.js';
import { EmptyRegistry } from './empty-registry.js';
import { FIRST_PAGE } from './first-page-text.js';
import { findHighlights } from './highlights.js';
import { HomePage } from './home-page.js';

export const HOME_ROUTES = {
  home: { method: 'get', path: '/', responses: {} },
} as const satisfies Record<string, RouteConfig>;

const NEWEST_RELEASES = 6;

export interface HomeDeps {
  store: SearchStore & CatalogReader;
  trust: SigningTrust;
  site: Site;
  config: { highlights?: readonly FunctionName[] };
}

/** Responds to `/` with a page for browsers, and with text for other clients. */
export function homeRoutes(app: RegistryApp, { site, store, trust, config }: HomeDeps): void {
  app.get('/', async (c) => {
    c.set('route', '/');
    if (!acceptsPage(c.req.header('accept'))) return c.text(FIRST_PAGE, 200, { Vary: 'Accept' });
    c.get('limits').countBy(c, 'read');
    return asVisitor(c, () => homePage(c));
  });

  async function homePage(c: RegistryContext): Promise<Response> {
    const found = await store.search({ sort: 'newest', limit: NEWEST_RELEASES });
    const head = {
      title: 'krmhub: a registry of KRM functions',
      description: DESCRIPTION,
      path: '/',
      search: null,
    };
    if (found.total === 0)
      return pageResponse(c, site, { head, body: <EmptyRegistry recipes={readyRecipes()} /> });
    const { total, facets } = found;
    const items = (results: readonly SearchResult[]) =>
      results.map((item) => searchItem(trust.policies, item));
    const listed = items(found.items.filter(({ yanked }) => !yanked));
    const newest = listed.filter(({ release }) => release !== undefined);
    const upstream = listed.filter(({ release }) => release === undefined);
    const highlights = items(await findHighlights(store, config.highlights ?? []));
    const catalogs = (await store.catalogs()).map(({ name, newest }) => {
      const snapshot = newest?.withdrawn === undefined ? newest : undefined;
      return { name, ...defined({ functions: snapshot?.functions, builtAt: snapshot?.createdAt }) };
    });
    const shown = { total, facets, highlights, newest, upstream, catalogs };
    return pageResponse(c, site, { head, body: <HomePage shown={shown} /> });
  }
}

const DESCRIPTION =
  'Find KRM functions for kustomize, kpt, and other orchestrators. See what they do and who signed them, and read ' +
  'catalogs of them.';
