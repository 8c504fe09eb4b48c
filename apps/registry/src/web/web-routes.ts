/**
 * Web pages of the registry, and what all of them share: addresses, layout, Markdown, and responses.
 *
 * HTML is rendered with components that are functions of what was read (hono/jsx), from the same store calls as the
 * API.
 *
 * Pages that show a definition are rendered once, in another thread (workers/derive/derivation.ts). Other expensive
 * parts are cached by the digest of their input, such as the counts of a catalog. Lists are pages of the store, never
 * whole catalogs. Assets have URLs with their digest. No page runs a script or style that is not such a file, and
 * nothing is loaded from other sites. Everything is escaped except the output of the Markdown renderer, which treats
 * HTML as text.
 *
 * @module
 */

import type { RouteConfig } from '@hono/zod-openapi';
import type { RegistryApp } from '../http/context.js';
import { ASSET_ROUTES, assetRoutes } from './assets.js';
import { BADGE_ROUTES, type BadgeDeps, badgeRoutes } from './badge/badge-routes.js';
import { CARD_ROUTES, type CardDeps, cardRoutes } from './card/card-routes.js';
import { CATALOG_PAGE_ROUTES, type CatalogPageDeps, catalogPageRoutes } from './catalog/catalog-routes.js';
import { DISCOVERY_ROUTES, type DiscoveryDeps, discoveryRoutes } from './discovery/discovery-routes.js';
import { DOCS_ROUTES, type DocsDeps, docsRoutes } from './docs/docs-routes.js';
import { FEED_ROUTES, type FeedDeps, feedRoutes } from './feeds/feed-routes.js';
import {
  FUNCTION_PAGE_ROUTES,
  type FunctionPageDeps,
  functionPageRoutes,
} from './function/function-routes.js';
import { HOME_ROUTES, type HomeDeps, homeRoutes } from './home/home-routes.js';
import { INSTALL_ROUTES, type InstallDeps, installRoutes } from './install/install-routes.js';
import { OPERATE_ROUTES, type OperateDeps, operateRoutes } from './operate/operate-routes.js';
import { OWNER_PAGE_ROUTES, type OwnerPageDeps, ownerPageRoutes } from './owners/owner-routes.js';
import { POLICY_PAGE_ROUTES, type PolicyPageDeps, policyPageRoutes } from './policy/policy-routes.js';
import { REFERENCE_ROUTES, type ReferenceDeps, referenceRoutes } from './reference/reference-routes.js';
import {
  REGISTRY_PAGE_ROUTES,
  type RegistryPageDeps,
  registryPageRoutes,
} from './registry/registry-routes.js';
import { SEARCH_ROUTES, type SearchPageDeps, searchRoutes } from './search/search-routes.js';
import { TRY_ROUTES, type TryDeps, tryRoutes } from './try/try-routes.js';

/** What all pages need together. */
export type WebDeps = HomeDeps &
  InstallDeps &
  FunctionPageDeps &
  TryDeps &
  FeedDeps &
  SearchPageDeps &
  CatalogPageDeps &
  PolicyPageDeps &
  OwnerPageDeps &
  DiscoveryDeps &
  RegistryPageDeps &
  BadgeDeps &
  CardDeps &
  ReferenceDeps &
  DocsDeps &
  OperateDeps;

/** Every route of the pages, with its name; none is in the HTTP API. Pages and operator pages have some equal names. */
export const WEB_ROUTES: readonly (readonly [name: string, route: RouteConfig])[] = [
  ASSET_ROUTES,
  HOME_ROUTES,
  INSTALL_ROUTES,
  FUNCTION_PAGE_ROUTES,
  TRY_ROUTES,
  FEED_ROUTES,
  BADGE_ROUTES,
  CARD_ROUTES,
  REFERENCE_ROUTES,
  DOCS_ROUTES,
  SEARCH_ROUTES,
  CATALOG_PAGE_ROUTES,
  POLICY_PAGE_ROUTES,
  OWNER_PAGE_ROUTES,
  REGISTRY_PAGE_ROUTES,
  DISCOVERY_ROUTES,
  OPERATE_ROUTES,
].flatMap((routes) => Object.entries<RouteConfig>(routes));

/** Adds the pages for people. Call this after the routes of the API, whose paths match first. */
export function webRoutes(app: RegistryApp, deps: WebDeps): void {
  assetRoutes(app, deps.site.assets);
  homeRoutes(app, deps);
  installRoutes(app, deps);
  functionPageRoutes(app, deps);
  tryRoutes(app, deps);
  feedRoutes(app, deps);
  badgeRoutes(app, deps);
  cardRoutes(app, deps);
  referenceRoutes(app, deps);
  docsRoutes(app, deps);
  searchRoutes(app, deps);
  catalogPageRoutes(app, deps);
  policyPageRoutes(app, deps);
  ownerPageRoutes(app, deps);
  registryPageRoutes(app, deps);
  discoveryRoutes(app, deps);
  operateRoutes(app, deps);
}
